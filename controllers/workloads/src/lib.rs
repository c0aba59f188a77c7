//! The controllers of Deployments, ReplicaSets and the EndpointSlices of Services, for the providers whose Pods run as processes of this
//! machine. In Kubernetes, kube-controller-manager has them.
//!
//! Only Namespaces with the label `cluster.x-k8s.io/provider` are looked at ([`is_run_here`]): the manifests of all providers have it, and only
//! administrators can set it. Everywhere else these kinds are stored and nothing follows, which a Pod says in a condition (`unscheduled`).
//! The plans hold in simulated clusters, too.

pub mod deployment;
mod endpoints;
mod namespaces;
pub mod pods;
pub mod readiness;
pub mod replica_set;
mod stored;
mod unscheduled;

use engine::Provider;

pub use endpoints::address_on_host;
pub use namespaces::is_run_here;

/// The table of these controllers. clusterctl knows no such provider.
pub const PROVIDERS: &[Provider] = &[Provider {
    inventory: None,
    controllers: &[
        deployment::CONTROLLER,
        replica_set::CONTROLLER,
        endpoints::CONTROLLER,
        unscheduled::CONTROLLER,
    ],
}];
