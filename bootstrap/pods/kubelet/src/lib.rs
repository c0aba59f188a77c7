//! Runs Pods as processes of this machine, without a container runtime: what a kubelet does for the Deployments of providers.
//!
//! The Pods of a namespace run if its Namespace has the label `cluster.x-k8s.io/provider`, which the manifests of all providers have and
//! which only administrators can set. Pods of other namespaces are stored, and run nowhere.
//!
//! [`Kubelet::start`] follows the Pods. Each has a worker ([`mod@pod`]), which unpacks images, writes volumes ([`mod@volumes`]), starts
//! processes by the pure [`mod@plan`], restarts them, and writes the status.

pub mod folders;
mod gather;
pub mod host;
mod kubelet;
mod limits;
pub mod logs;
mod needs;
pub mod plan;
pub mod pod;
pub mod probe;
mod proxies;
pub mod root_copy;
pub mod services;
pub mod volumes;

pub use kubelet::{KIND, Kubelet, Options};
pub use needs::{Needs, needs};
pub use proxies::ProxyVariables;
