//! The controllers of Deployments, ReplicaSets and the EndpointSlices of Services, for the providers whose Pods run as processes of this
//! machine. In Kubernetes, kube-controller-manager has them.
//!
//! Only Namespaces with the label `cluster.x-k8s.io/provider` are looked at ([`is_run_here`]): the manifests of all providers have it, and only
//! administrators can set it. Everywhere else these kinds are stored and nothing follows.

mod deployment;
mod endpoints;
mod replica_set;

use std::sync::Arc;

use engine::{Change, NamespacedName, Objects, Provider, Request};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;

/// The label of the Namespaces whose Pods run.
pub const PROVIDER: &str = "cluster.x-k8s.io/provider";

/// The table of these controllers. clusterctl knows no such provider.
pub const PROVIDERS: &[Provider] = &[Provider {
    inventory: None,
    controllers: &[deployment::CONTROLLER, replica_set::CONTROLLER, endpoints::CONTROLLER],
}];

/// Returns whether the Pods of a Namespace run as processes of this machine.
pub fn is_run_here(namespace: &Namespace) -> bool {
    namespace.labels().contains_key(PROVIDER)
}

/// Returns whether the namespace of this name is one whose Pods run.
fn is_within(namespaces: &Objects<Namespace>, name: &str) -> bool {
    namespaces.get(&NamespacedName::new("", name)).is_some_and(|namespace| is_run_here(&namespace))
}

/// Returns the objects of a Namespace that changed, because its label may have changed.
fn of_namespace<K: engine::Kind>(objects: &Objects<K>, change: &Change<Namespace>) -> Vec<Request> {
    let all: Vec<Arc<K>> = objects.cache().in_namespace(&change.name().name);
    engine::controller::requests_of(&all)
}
