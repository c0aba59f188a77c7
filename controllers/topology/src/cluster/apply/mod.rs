//! Carries out what was decided about a Cluster: creates, changes and deletes the objects of its topology, in an order in which nothing is
//! left behind if the process ends in between.

mod cluster;
mod control_plane;
mod events;
mod handles;
mod health_check;
mod machine_deployments;
mod machine_pools;
mod shim;
mod templates;
mod writer;

use engine::{Error, Result};
use serde_json::Value;

use super::memory::OfCluster;
use super::observed::Observed;
use super::plan::Decision;
use crate::Desired;
use writer::{Change, Writer};

pub(super) use handles::Handles;

/// Applies the objects of the topology: infrastructure, control plane, the references of the Cluster to them, and then the workers. `started`
/// is called when the control plane has the version that was chosen.
///
/// # Errors
/// The first step that failed. Those before it stay, and the next reconcile goes on from there.
pub(super) async fn apply(
    handles: &Handles,
    observed: &Observed,
    decision: &Decision,
    mut desired: Desired,
    memory: &OfCluster,
    started: impl AsyncFnOnce() -> Result<()>,
) -> Result<()> {
    let current = &observed.current;
    let writer = &Writer { handles, cluster: &current.cluster, applied: &memory.applied };
    let shim = shim::prepare(writer, current, &mut desired).await?;
    let infrastructure =
        writer.apply_object(current.infrastructure.as_ref(), &desired.infrastructure).await?;
    let mut control_plane = control_plane::apply(writer, observed, decision, &mut desired).await;
    if control_plane.is_ok() {
        control_plane = started().await;
    }
    if control_plane.is_err() && infrastructure != Change::Created {
        return control_plane;
    }
    if control_plane.is_err() && current.control_plane.is_none() {
        // The infrastructure exists, so the Cluster refers to it. The control plane is still to come.
        desired.cluster["spec"]["controlPlaneRef"] = Value::Null;
    }
    let cluster = cluster::apply(writer, &desired.cluster).await;
    Error::aggregate(control_plane.err().into_iter().chain(cluster.err()).collect())?;
    shim::remove(writer, shim).await?;
    if current.control_plane.is_none() {
        // Not before: each attempt to create a control plane chooses another name, which is also that of its health check.
        health_check::apply(writer, None, desired.control_plane_health_check.as_ref()).await?;
    }
    machine_deployments::apply(writer, observed, decision, &mut desired.machine_deployments).await?;
    machine_pools::apply(writer, observed, decision, &desired.machine_pools).await
}
