//! The Namespaces whose Pods run.

use std::sync::Arc;

use engine::names::PROVIDER;
use engine::{Change, NamespacedName, Objects, Request};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;

/// Returns whether the Pods of a Namespace run as processes of this machine.
pub fn is_run_here(namespace: &Namespace) -> bool {
    namespace.labels().contains_key(PROVIDER)
}

/// Returns whether the namespace of this name is one whose Pods run.
pub(crate) fn is_within(namespaces: &Objects<Namespace>, name: &str) -> bool {
    namespaces.get(&NamespacedName::new("", name)).is_some_and(|namespace| is_run_here(&namespace))
}

/// Returns the objects of a Namespace that changed, because its label may have changed.
pub(crate) fn of_namespace<K: engine::Kind>(
    objects: &Objects<K>,
    change: &Change<Namespace>,
) -> Vec<Request> {
    let all: Vec<Arc<K>> = objects.cache().in_namespace(&change.name().name);
    engine::controller::requests_of(&all)
}
