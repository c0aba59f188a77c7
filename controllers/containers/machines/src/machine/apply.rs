//! Carries out the plan of a DevMachine.

use std::time::Duration;

use anyhow::{Context, bail};
use engine::object::{is_deleting, uid};
use engine::{Error, NamespacedName, Outcome, Result, finalizer};
use k8s_openapi::api::core::v1::Node;
use node_bootstrap::Place;
use schemas::infrastructure::DevMachine;

use super::observe::DevMachineController;
use super::observed::{Data, NodeState, Observed};
use super::plan::Plan;
use super::steps::{self, Done, Step};
use super::tasks::Say;
use super::{bootstrap, data, plan};
use crate::names::MACHINE_FINALIZER;

impl DevMachineController {
    /// Carries out the plan. The container is removed before the DevMachine loses its finalizer.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<DevMachine> {
        let mut errors = Vec::new();
        let mut wanted = plan.wanted;
        if is_deleting(&wanted) && !finalizer::has(&wanted, MACHINE_FINALIZER) {
            self.tasks.forget(uid(&wanted)).await;
        }
        if let Some(container) = &plan.remove
            && let Err(error) = self.remove(container).await
        {
            finalizer::add(&mut wanted, MACHINE_FINALIZER);
            errors.push(error);
        }
        if let Some(node) = &plan.node {
            errors.extend(self.write_node(observed, node).await.err());
        }
        if let Some(machine) = &plan.replace {
            errors.extend(self.machines.delete(machine.as_ref()).await.err());
        }
        if let Some(step) = plan.step {
            self.begin(observed, step);
        }
        Outcome { wanted: Some(wanted), errors, action: plan.action }
    }

    async fn remove(&self, container: &str) -> Result<()> {
        let failed = |error: anyhow::Error| Error::failed(format!("{error:#}"));
        self.nodes.parts().await.map_err(failed)?.runtime.remove(container).await.map_err(failed)
    }

    /// Begins a step, which goes on after this reconcile.
    fn begin(&self, observed: &Observed, step: Step) {
        let work = Work {
            nodes: self.nodes.clone(),
            clock: self.manager.clock().clone(),
            container: observed.container.as_ref().map(|container| container.name.clone()),
            observed: observed.clone(),
        };
        let done = step.clone();
        self.tasks.start(uid(observed.dev.as_ref()), &observed.name, step, move |say| work.run(done, say));
    }

    async fn write_node(&self, observed: &Observed, wanted: &Node) -> Result<()> {
        let (NodeState::Found(read), Some(cluster)) = (&observed.node, &observed.cluster) else {
            return Ok(());
        };
        let workload = self.manager.clusters().get(&NamespacedName::of(cluster.as_ref()))?;
        workload.objects::<Node>().patch(read, wanted, &[]).await.map(drop)
    }
}

/// What a step needs.
struct Work {
    nodes: crate::nodes::Nodes,
    clock: machinery::clock::Clock,
    container: Option<String>,
    observed: Observed,
}

impl Work {
    async fn run(self, step: Step, say: Say) -> anyhow::Result<Done> {
        let parts = self.nodes.parts().await?;
        let container = || self.container.as_deref().context("the container is gone");
        match &step {
            Step::Image(name) => steps::image(parts, name, self.observed.version(), say).await,
            Step::Create => {
                let image = plan::image(&self.observed).context("the image is not there any more")?;
                steps::create(parts, &self.observed.wanted, &image).await
            }
            Step::Ready => steps::ready(parts, container()?).await,
            Step::Import(image) => {
                let (runtime, images) = (parts.runtime.as_ref(), parts.images.as_ref());
                steps::import(runtime, images, container()?, image).await.map(|()| Done::Step)
            }
            Step::Bootstrap => {
                let limit = data::time_limit(&self.observed.dev);
                let script = self.script(parts.has_cgroups_v1, limit)?;
                bootstrap::run(
                    &bootstrap::Run { parts, clock: &self.clock, name: container()?, script: &script, say },
                    limit,
                )
                .await
            }
        }
    }

    /// Returns the script of the bootstrap.
    fn script(&self, has_cgroups_v1: bool, limit: Duration) -> anyhow::Result<String> {
        let Data::Usable(bootstrap) = &self.observed.data else { bail!("the bootstrap data cannot be used") };
        let adapted =
            bootstrap.as_ref().clone().adapt(data::options(has_cgroups_v1, self.observed.version()))?;
        Ok(node_bootstrap::script(&adapted, &Place::default(), limit)?)
    }
}
