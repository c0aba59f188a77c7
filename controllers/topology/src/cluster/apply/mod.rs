//! Carries out what was decided about a Cluster: creates, changes and deletes the objects of its topology, in an order in which nothing is
//! left behind if the process ends in between.

mod cluster;
mod control_plane;
mod events;
mod machine_deployments;
mod machine_pools;
mod objects;
mod shim;
mod templates;

use engine::{Error, Result};
use serde_json::Value;

use super::observe::{Observed, TopologyController};
use super::plan::Decision;
use crate::Desired;
use objects::Change;

impl TopologyController {
    /// Applies the objects of the topology: infrastructure, control plane, the references of the Cluster to them, and then the workers.
    ///
    /// # Errors
    /// The first step that failed. Those before it stay, and the next reconcile goes on from there.
    pub(super) async fn execute(
        &self,
        observed: &Observed,
        decision: &Decision,
        mut desired: Desired,
    ) -> Result<()> {
        let current = &observed.current;
        let shim = self.prepare_shim(current, &mut desired).await?;
        let infrastructure = self
            .apply_object(&current.cluster, current.infrastructure.as_ref(), &desired.infrastructure)
            .await?;
        let control_plane = self.apply_control_plane(observed, decision, &mut desired).await;
        if control_plane.is_err() && infrastructure != Change::Created {
            return control_plane;
        }
        if control_plane.is_err() && current.control_plane.is_none() {
            // The infrastructure exists, so the Cluster refers to it. The control plane is still to come.
            desired.cluster["spec"]["controlPlaneRef"] = Value::Null;
        }
        let cluster = self.apply_cluster(&desired.cluster).await;
        Error::aggregate(control_plane.err().into_iter().chain(cluster.err()).collect())?;
        self.remove_shim(&current.cluster, shim).await?;
        self.apply_machine_deployments(observed, decision, &mut desired.machine_deployments).await?;
        self.apply_machine_pools(observed, decision, &desired.machine_pools).await
    }
}
