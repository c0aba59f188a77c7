//! Carries out the plan of a DevCluster.

use std::collections::BTreeSet;
use std::time::Duration;

use engine::object::{annotation, is_deleting};
use engine::{Action, Error, NamespacedName, Outcome, Result, owners};
use schemas::cluster::Cluster;
use schemas::infrastructure::DevCluster;
use schemas::meta::ApiEndpoint;

use super::observe::{DevClusterController, port};
use super::observed::{Observed, Unserved};
use super::plan::{Plan, Step};
use crate::hand_over::is_moving;
use crate::names::API_SERVER_SILENT;
use schemas::hand_over::{self, HAND_OVER, HELD_HERE, LISTENER, MOVED_TO, MOVING, READY};

/// Interval at which an endpoint without a server is looked at again.
const LOOK: Duration = Duration::from_millis(500);

impl DevClusterController {
    /// Carries out the step of the plan.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<DevCluster> {
        let Plan { mut wanted, step, silent } = plan;
        let result = match step {
            Step::Remove => {
                self.backend.remove(&observed.name).await;
                Ok(())
            }
            Step::Run(port) => self.run(observed, port, silent, &mut wanted).await,
        };
        let action = match &observed.unserved {
            Some(unserved) => self.repair(&observed.name, unserved),
            None => Action::done(),
        };
        Outcome { wanted: Some(wanted), errors: result.err().into_iter().collect(), action }
    }

    async fn run(
        &self,
        observed: &Observed,
        port: Option<u16>,
        silent: bool,
        wanted: &mut DevCluster,
    ) -> Result<()> {
        let name = &observed.name;
        let (workload, port) = self.backend.start(name, port, &observed.reserved).await?;
        workload.rows().release();
        workload.set_silent(silent);
        self.backend.hand_over().discard(name).await?;
        let annotations = wanted.metadata.annotations.get_or_insert_default();
        annotations.insert(LISTENER.to_owned(), format!("{HELD_HERE}{name}"));
        annotations.remove(HAND_OVER);
        wanted.spec.control_plane_endpoint =
            Some(ApiEndpoint { host: Some(self.backend.host().to_owned()), port: Some(i32::from(port)) });
        wanted.status.get_or_insert_default().initialization.get_or_insert_default().provisioned = Some(true);
        Ok(())
    }

    /// Has the machines of an endpoint without a server reconciled, and looks again until somebody answers.
    fn repair(&self, name: &NamespacedName, unserved: &Unserved) -> Action {
        if !unserved.since.is_zero() {
            tracing::debug!(cluster = %name, ?unserved, "no API server answers, its machines are reconciled");
            self.backend.reconcile_machines(name);
        }
        Action::requeue_after(LOOK)
    }

    /// Starts a paused cluster that ran before this process was started: a pause stops the controller, and not the cluster. One that moves
    /// is left to the mover.
    pub(super) async fn bring_back(&self, dev: &DevCluster, cluster: Option<&Cluster>) -> Result<()> {
        let (Some(name), Some(cluster)) = (owners::named::<Cluster>(dev), cluster) else { return Ok(()) };
        let port = dev.spec.control_plane_endpoint.as_ref().and_then(port);
        let ran_here = hand_over::is_held_here(|name| annotation(dev, name)) && port.is_some();
        if !ran_here || is_deleting(dev) || is_moving(cluster) {
            return Ok(());
        }
        let (workload, _) = self.backend.start(&name, port, &BTreeSet::new()).await?;
        workload.set_silent(annotation(dev, API_SERVER_SILENT).is_some());
        Ok(())
    }

    /// Stops the workload clusters of a namespace whose DevCluster does not exist any more.
    pub(super) async fn forget_clusters(&self, namespace: &str) {
        let all = self.objects.in_namespace(namespace);
        let is_named = |cluster: &engine::NamespacedName| {
            all.iter().any(|dev| owners::named::<Cluster>(dev.as_ref()).as_ref() == Some(cluster))
        };
        self.backend.retain(namespace, is_named).await;
    }

    /// Saves the state of a cluster that is about to be moved, and stops a cluster that was moved.
    pub(super) async fn hand_over(&self, wanted: &mut DevCluster, cluster: Option<&Cluster>) -> Result<()> {
        let Some(name) = owners::named::<Cluster>(wanted) else { return Ok(()) };
        let has = |name: &str| cluster.is_some_and(|cluster| annotation(cluster, name).is_some());
        if has(MOVED_TO) {
            self.backend.remove(&name).await;
        } else if has(MOVING) && annotation(wanted, HAND_OVER) != Some(READY) {
            // A cluster that does not run has no state beyond its objects in the management cluster.
            if let Some(workload) = self.backend.get(&name).await {
                let state = workload.rows().hold().map_err(|why| {
                    Error::failed(format!("the state of Cluster {name} cannot be written down: {why}"))
                })?;
                self.backend.hand_over().write(&name, wanted, &state).await?;
            }
            wanted.metadata.annotations.get_or_insert_default().insert(HAND_OVER.into(), READY.into());
        }
        Ok(())
    }
}
