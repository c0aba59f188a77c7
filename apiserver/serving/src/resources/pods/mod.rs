//! Subresources of Pods, Services and Nodes that are no parts of the object: some do something, the others reach a kubelet, and
//! answer as a server does that finds none.

pub(crate) mod binding;
mod eviction;
mod kubelet;
pub(crate) mod mounted;
pub mod node;
pub(crate) mod posted;
mod proxy;
