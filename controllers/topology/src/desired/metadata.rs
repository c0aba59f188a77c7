//! Labels, annotations and owners that several objects of a topology have.

use schemas::cluster::Cluster;
use schemas::meta::ObjectMetaTemplate;
use serde_json::{Value, json};

use crate::names;
use crate::object::{Texts, merged};

/// The labels that every object of a topology has.
pub fn labels(cluster: &Cluster) -> Texts {
    let name = cluster.metadata.name.clone().unwrap_or_default();
    Texts::from([(names::CLUSTER_NAME.to_owned(), name), (names::OWNED.to_owned(), String::new())])
}

/// Labels and annotations of the topology and of the class; those of the topology win.
pub fn of_both(
    topology: Option<&ObjectMetaTemplate>,
    class: Option<&ObjectMetaTemplate>,
) -> ObjectMetaTemplate {
    let nothing = ObjectMetaTemplate::default();
    let (topology, class) = (topology.unwrap_or(&nothing), class.unwrap_or(&nothing));
    ObjectMetaTemplate {
        labels: merged(&topology.labels, &class.labels),
        annotations: merged(&topology.annotations, &class.annotations),
    }
}

/// Removes the annotations that only say how workers of a topology are upgraded.
pub fn without_upgrade_controls(mut annotations: Texts) -> Texts {
    annotations.remove(names::HOLD_UPGRADE_SEQUENCE);
    annotations.remove(names::DEFER_UPGRADE);
    annotations
}

/// A reference to the Cluster as owner. It is not the controller: the objects get one later.
pub fn owner(cluster: &Cluster) -> Value {
    json!({
        "apiVersion": Cluster::API_VERSION,
        "kind": Cluster::KIND,
        "name": cluster.metadata.name,
        "uid": cluster.metadata.uid,
    })
}
