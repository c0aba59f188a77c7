//! Deletes the templates of MachineDeployments and MachineSets of topologies when nothing uses them any more. No two MachineDeployments of
//! topologies share a template.

pub mod deployments;
pub mod sets;
mod unused;

use std::sync::Arc;

use engine::controller::requests_of;
use engine::names::{CLUSTER_NAME, TOPOLOGY_OWNED};
use engine::object::label;
use engine::{Change, Error, External, Kind, Membership, NamespacedName, Objects, Request};
use schemas::cluster::Cluster;
use schemas::meta::ContractVersionedObjectReference;

/// Returns the Cluster of an object of a topology. Objects of no topology wait for ever, and so does one whose label is still to come.
fn cluster_of<K: Kind<DynamicType = ()>>(clusters: &Objects<Cluster>, object: &Arc<K>) -> Membership {
    if label(object.as_ref(), TOPOLOGY_OWNED).is_none() {
        return Membership::Waits;
    }
    let Some(name) = label(object.as_ref(), CLUSTER_NAME) else { return Membership::Waits };
    let key = NamespacedName::of(object.as_ref());
    let cluster = NamespacedName::new(key.namespace.as_str(), name);
    let missing = || Error::failed(format!("Cluster {cluster} of {} {key} does not exist", K::kind(&())));
    clusters.get(&cluster).map_or_else(|| Membership::Missing(Some(missing())), Membership::Of)
}

/// Returns the objects of a Cluster that was paused or unpaused.
fn of_paused<K: Kind<DynamicType = ()>>(change: &Change<Cluster>, objects: &Objects<K>) -> Vec<Request> {
    let paused = |cluster: &Arc<Cluster>| {
        cluster.spec.topology.is_some() && !engine::paused::causes(cluster.as_ref(), Some(cluster)).is_empty()
    };
    if change.old.as_ref().map(paused) == change.new.as_ref().map(paused) {
        return Vec::new();
    }
    requests_of(&objects.by_cluster(&change.name()))
}

/// Deletes templates; those that do not exist are not errors.
async fn delete(
    external: &External,
    namespace: &str,
    templates: &[ContractVersionedObjectReference],
) -> Vec<Error> {
    let mut errors = Vec::new();
    for template in templates {
        let deleted = match external.get(namespace, template).await {
            Ok(Some(found)) => external.handle(&found).delete(found.object.as_ref()).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        errors.extend(deleted.err());
    }
    errors
}
