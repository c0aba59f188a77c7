//! Carries out the plan of a DevCluster.

use engine::object::annotation;
use engine::{Action, Error, Outcome, Result};
use schemas::cluster::Cluster;
use schemas::infrastructure::DevCluster;
use schemas::meta::ApiEndpoint;

use super::observe::{DevClusterController, Observed};
use super::plan::{Plan, Step};
use crate::names::LISTENER;
use crate::owner::owner_name;
use schemas::hand_over::{HAND_OVER, MOVED_TO, MOVING, NEEDED, READY};

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
            Step::Refuse(why) => Err(Error::failed(why)),
        };
        Outcome { wanted: Some(wanted), errors: result.err().into_iter().collect(), action: Action::done() }
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
        annotations.insert(LISTENER.to_owned(), name.to_string());
        annotations.insert(HAND_OVER.to_owned(), NEEDED.to_owned());
        wanted.spec.control_plane_endpoint =
            Some(ApiEndpoint { host: Some(self.backend.host().to_owned()), port: Some(i32::from(port)) });
        wanted.status.get_or_insert_default().initialization.get_or_insert_default().provisioned = Some(true);
        Ok(())
    }

    /// Stops the workload clusters of a namespace whose DevCluster does not exist any more.
    pub(super) async fn forget_clusters(&self, namespace: &str) {
        let all = self.objects.in_namespace(namespace);
        let is_named = |cluster: &engine::NamespacedName| {
            all.iter()
                .any(|dev| owner_name(dev.as_ref(), "Cluster").as_deref() == Some(cluster.name.as_str()))
        };
        self.backend.retain(namespace, is_named).await;
    }

    /// Saves the state of a cluster that is about to be moved, and stops a cluster that was moved.
    pub(super) async fn hand_over(&self, wanted: &mut DevCluster, cluster: Option<&Cluster>) -> Result<()> {
        let Some(name) = self.cluster_name(wanted) else { return Ok(()) };
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
