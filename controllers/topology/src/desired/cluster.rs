//! The fields of the Cluster that its topology decides about.

use schemas::cluster::Cluster;
use serde_json::{Value, json};

use super::{DesiredError, Inputs, metadata};
use crate::names;
use crate::object;

/// Makes the apply configuration of the Cluster: labels, both references, and the step that an upgrade is at.
pub fn compute(
    inputs: &Inputs<'_>,
    infrastructure: &Value,
    control_plane: &Value,
) -> Result<Value, DesiredError> {
    let cluster = &inputs.current.cluster;
    let mut desired = json!({
        "apiVersion": Cluster::API_VERSION,
        "kind": Cluster::KIND,
        "metadata": {
            "name": cluster.metadata.name,
            "namespace": cluster.metadata.namespace,
            "labels": metadata::labels(cluster),
        },
        "spec": {
            "infrastructureRef": object::reference(infrastructure),
            "controlPlaneRef": object::reference(control_plane),
        },
    });
    if let Some(step) = &inputs.versions.upgrade_step {
        desired["metadata"]["annotations"] = json!({ names::UPGRADE_STEP: step });
    }
    Ok(desired)
}
