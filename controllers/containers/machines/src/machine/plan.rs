//! The plan of a DevMachine: the next step of its container and its new status, in the order of Cluster API's provider. Pure.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::object::is_deleting;
use engine::{Action, conditions, finalizer, paused};
use k8s_openapi::api::core::v1::Node;
use node_bootstrap::{Outcome, Report};
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineAddress};
use schemas::infrastructure::DevMachine;
use schemas::meta::Condition;
use system_containers::{Container, Image, State};

use super::node;
use super::observed::{Data, NodeState, Observed, Obstacle};
use super::status::{self, BOOTSTRAP, CONTAINER, GROUPS, IMAGES};
use super::steps::{Done, Step};
use super::tasks::until;
use crate::limits;
use crate::names::{MACHINE_FINALIZER, PROVIDER_ID};

/// The plan for a DevMachine.
#[derive(Debug)]
pub struct Plan {
    /// The DevMachine as it should be.
    pub wanted: DevMachine,
    /// The step that is to be done now.
    pub step: Option<Step>,
    /// The name of the container that is to be removed.
    pub remove: Option<String>,
    /// The Node as it should be.
    pub node: Option<Node>,
    /// The Machine that is to be deleted, in whose place its pool puts another one.
    pub replace: Option<Arc<Machine>>,
    /// When to look again.
    pub action: Action,
}

/// Returns the plan for a DevMachine.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut wanted = observed.dev.as_ref().clone();
    paused::set(&mut wanted, observed.cluster.as_deref(), now);
    let plan = Plan { wanted, step: None, remove: None, node: None, replace: None, action: Action::done() };
    let mut planner = Planner { observed, plan, now };
    let is_deleted = is_deleting(observed.dev.as_ref());
    match is_deleted {
        true => planner.delete(),
        false => drop(planner.bring_up()),
    }
    status::summarize_all(&mut planner.plan.wanted, is_deleted, now);
    planner.plan
}

struct Planner<'a> {
    observed: &'a Observed,
    plan: Plan,
    now: DateTime<Utc>,
}

/// A machine waits: what follows in the plan is not for now.
type Waits<T> = Option<T>;

impl Planner<'_> {
    fn set(&mut self, condition: Condition) {
        conditions::set(&mut self.plan.wanted, self.now, condition);
    }

    /// Sets a condition, and says that nothing else can be done now.
    fn wait<T>(&mut self, type_: &str, reason: &str, message: impl Into<String>) -> Waits<T> {
        self.set(conditions::is_false(type_, reason, message));
        None
    }

    fn look_again(&mut self, after: std::time::Duration) {
        self.plan.action = self.plan.action.min(Action::requeue_after(after));
    }

    fn delete(&mut self) {
        let observed = self.observed;
        let may_be_there = |obstacle: &&Obstacle| match obstacle {
            Obstacle::Runtime(_) => was_made(&observed.dev),
            Obstacle::Silence(_) => true,
        };
        if let Some(obstacle) = observed.obstacle.as_ref().filter(may_be_there) {
            // Only this machine can remove the container.
            let (text, again) = obstacle.told();
            self.look_again(again);
            self.set(conditions::is_false(CONTAINER, "Deleting", text));
            return;
        }
        if observed.progress.running == Some(Step::Create) {
            // What is being made cannot be removed. The end of the step is an event.
            let message = format!("Waiting until container {} is created", observed.wanted.name);
            self.set(conditions::is_false(CONTAINER, "Deleting", message));
            return;
        }
        finalizer::remove(&mut self.plan.wanted, MACHINE_FINALIZER);
        if let Some(container) = &self.observed.container {
            self.plan.remove = Some(container.name.clone());
            self.set(conditions::is_false(
                CONTAINER,
                "Deleting",
                format!("Removing container {}", container.name),
            ));
        }
    }

    fn bring_up(&mut self) -> Waits<()> {
        let container = self.container()?;
        self.addresses(&container);
        self.look_again(limits::INSPECT);
        self.ready()?;
        self.images()?;
        self.data()?;
        self.plan.wanted.spec.provider_id.get_or_insert_with(|| format!("{PROVIDER_ID}{}", container.name));
        let status = self.plan.wanted.status.get_or_insert_default();
        status.initialization.get_or_insert_default().provisioned = Some(true);
        self.bootstrap()?;
        self.node()
    }

    /// Returns the container once it runs.
    fn container(&mut self) -> Waits<Container> {
        let observed = self.observed;
        if let Some(obstacle) = &observed.obstacle {
            let (text, again) = obstacle.told();
            self.look_again(again);
            return self.wait(CONTAINER, "NotProvisioned", text);
        }
        match (&observed.container, observed.dev.spec.provider_id.is_some()) {
            (Some(container), _) if container.state == State::Running => {
                self.set(conditions::is_true(CONTAINER, "Provisioned"));
                Some(container.clone())
            }
            (Some(container), _) if container.state == State::Paused => {
                self.look_again(limits::INSPECT);
                let name = &container.name;
                let message =
                    format!("Container {name} is paused: `firstlight nodes resume {name}` lets it go on");
                self.wait(CONTAINER, "NotProvisioned", message)
            }
            (container, true) => {
                self.look_again(limits::INSPECT);
                if observed.pool.is_some() && observed.is_lost() {
                    let going = |machine: &&Arc<Machine>| !is_deleting(machine.as_ref());
                    self.plan.replace = observed.machine.as_ref().filter(going).cloned();
                }
                let message = ended(&observed.dev, container.as_ref(), observed.pool.is_some());
                self.wait(CONTAINER, "NotProvisioned", message)
            }
            (_, false) => {
                if !observed.has_infrastructure() {
                    return self.wait(CONTAINER, "WaitingForClusterInfrastructureReady", "");
                }
                self.create()
            }
        }
    }

    /// Waits for the bootstrap data. Cluster API's provider does so before it creates the container; here the container is up by then, so that
    /// nobody waits for it afterwards.
    fn data(&mut self) -> Waits<()> {
        let observed = self.observed;
        if observed.data != Data::Unnamed || observed.is_provisioned() {
            return Some(());
        }
        let is_early = !observed.is_control_plane() && !observed.is_initialized();
        let reason = if is_early { "WaitingForControlPlaneInitialized" } else { "WaitingForBootstrapData" };
        self.wait(BOOTSTRAP, reason, "")
    }

    /// Plans the creation of the container: first its image, then itself.
    fn create(&mut self) -> Waits<Container> {
        let observed = self.observed;
        let name = &observed.wanted.name;
        let image = match &observed.image {
            Ok(image) => image.clone(),
            Err(error) => return self.wait(CONTAINER, "NotProvisioned", error.as_str()),
        };
        self.later(true);
        let step = match observed.progress.done.contains_key(&Step::Image(image.clone())) {
            true => Step::Create,
            false => Step::Image(image.clone()),
        };
        let said = match &step {
            Step::Image(_) => format!("Waiting for image {image}"),
            _ => format!("Creating container {name}"),
        };
        self.step(step, CONTAINER, said)
    }

    /// Waits until the container's init has started all units. What an earlier process has seen of this container counts.
    fn ready(&mut self) -> Waits<()> {
        self.later(false);
        if !self.was_true(GROUPS) && !self.is_done(&Step::Ready) {
            return self.step(Step::Ready, GROUPS, "Waiting for cgroups ready (1 of 1)".to_owned());
        }
        self.set(conditions::is_true(GROUPS, "Ready"));
        Some(())
    }

    /// Waits until all images are in the node.
    fn images(&mut self) -> Waits<()> {
        let docker = self.observed.dev.spec.backend.docker.as_ref();
        let mut images = docker.map(|docker| docker.pre_load_images.clone()).unwrap_or_default();
        images.extend(self.observed.preload.clone());
        if !self.was_true(IMAGES) {
            for (index, image) in images.iter().enumerate() {
                let step = Step::Import(image.clone());
                if !self.is_done(&step) {
                    let said = format!("Pre-loading image {image} ({} of {})", index + 1, images.len());
                    return self.step(step, IMAGES, said);
                }
            }
        }
        self.set(conditions::is_true(IMAGES, "Ready"));
        Some(())
    }

    /// Waits until the bootstrap has succeeded. It is never begun twice.
    fn bootstrap(&mut self) -> Waits<()> {
        let observed = self.observed;
        let was = observed.dev.condition(BOOTSTRAP);
        if observed.has_node() || was.is_some_and(|was| was.status == conditions::TRUE) {
            self.set(conditions::is_true(BOOTSTRAP, "Completed"));
            return Some(());
        }
        if let Some(Done::Bootstrap(report)) = observed.progress.done.get(&Step::Bootstrap) {
            return self.bootstrapped(report);
        }
        match &observed.data {
            // The data of a machine that was moved may be gone, and its bootstrap has begun long ago.
            Data::Unusable(why) => self.wait(BOOTSTRAP, "InvalidBootstrapData", why.as_str()),
            Data::Unnamed => self.wait(BOOTSTRAP, "WaitingForBootstrapData", ""),
            Data::Used => Some(()),
            // It is final, and only read again.
            Data::Usable(_) if was.is_some_and(|was| was.reason == "Failed") => {
                self.plan.step = Some(Step::Bootstrap).filter(|_| observed.progress.running.is_none());
                None
            }
            Data::Usable(_) => self.step(Step::Bootstrap, BOOTSTRAP, "Running bootstrap command".to_owned()),
        }
    }

    fn bootstrapped(&mut self, report: &Report) -> Waits<()> {
        match &report.outcome {
            Outcome::Completed | Outcome::Foreign { succeeded: true } => {
                let message = report.warnings.join("\n");
                self.set(Condition { message, ..conditions::is_true(BOOTSTRAP, "Completed") });
                Some(())
            }
            outcome => self.wait(BOOTSTRAP, "Failed", outcome.message()),
        }
    }

    /// Gives the Node what only the infrastructure knows.
    fn node(&mut self) -> Waits<()> {
        let id = self.plan.wanted.spec.provider_id.clone()?;
        if let NodeState::Found(node) = &self.observed.node {
            self.plan.node = node::wanted(node, &id);
            if node::is_uninitialized(node) {
                let status = self.plan.wanted.status.get_or_insert_default();
                node::add_addresses(&mut status.addresses, node);
            }
        }
        Some(())
    }

    fn addresses(&mut self, container: &Container) {
        let address = |type_: &str, address: String| MachineAddress { address, type_: type_.to_owned() };
        let ip = container.address.to_string();
        let status = self.plan.wanted.status.get_or_insert_default();
        let own = [
            address("Hostname", container.name.clone()),
            address("InternalIP", ip.clone()),
            address("ExternalIP", ip),
        ];
        if !own.iter().all(|own| status.addresses.contains(own)) {
            status.addresses = own.to_vec();
        }
        status.failure_domain.clone_from(&self.observed.failure_domain);
    }

    fn is_done(&self, step: &Step) -> bool {
        self.observed.progress.done.contains_key(step)
    }

    fn was_true(&self, type_: &str) -> bool {
        self.observed.is_provisioned() || self.observed.dev.condition_is_true(type_)
    }

    /// Says of the conditions after the container's that they wait for an earlier step, unless they have said more before about this container.
    fn later(&mut self, is_new: bool) {
        let waits = [
            (GROUPS, "WaitingForContainer"),
            (IMAGES, "WaitingForCGroups"),
            (BOOTSTRAP, "WaitingForPreloadedImages"),
        ];
        for (type_, reason) in waits {
            let condition = self.plan.wanted.condition(type_);
            if condition.is_none_or(|condition| is_new && condition.status == conditions::TRUE) {
                self.set(conditions::is_false(type_, reason, ""));
            }
        }
    }

    /// Plans a step, and says in this condition how far it is.
    fn step<T>(&mut self, step: Step, type_: &str, doing: String) -> Waits<T> {
        let progress = &self.observed.progress;
        let reason = match type_ {
            CONTAINER => "NotProvisioned",
            BOOTSTRAP => "NotCompleted",
            _ => "NotReady",
        };
        if progress.running.is_some() {
            let is_said = progress.running.as_ref() == Some(&step) && !progress.said.is_empty();
            let message = if is_said { progress.said.clone() } else { doing };
            return self.wait(type_, reason, message);
        }
        if let Some(failed) = progress.failure(&step) {
            let message = format!("{doing} failed: {}", failed.error);
            let left = until(failed.again, self.now);
            match left.is_zero() {
                true => self.plan.step = Some(step),
                false => self.look_again(left),
            }
            return self.wait(type_, reason, message);
        }
        self.plan.step = Some(step);
        self.wait(type_, reason, doing)
    }
}

/// Returns the image of a new container, once it was found.
pub(super) fn image(observed: &Observed) -> Option<Image> {
    match observed.progress.done.get(&Step::Image(observed.image.clone().ok()?)) {
        Some(Done::Image(image)) => Some(image.clone()),
        _ => None,
    }
}

/// Returns whether a machine has had a container that ran: its address is set then, and its provider ID later.
fn was_made(dev: &DevMachine) -> bool {
    dev.spec.provider_id.is_some() || dev.status.as_ref().is_some_and(|status| !status.addresses.is_empty())
}

/// Returns what to say of a machine whose container has ended.
fn ended(dev: &DevMachine, container: Option<&Container>, is_of_pool: bool) -> String {
    let id = dev.spec.provider_id.as_deref().unwrap_or_default();
    let name = container.map_or_else(|| id.trim_start_matches(PROVIDER_ID), |container| &container.name);
    let said = format!("Container {name} is not running anymore");
    match container.map(|container| &container.state) {
        None if is_of_pool => {
            format!("{said}: it is gone. Once its Node is not ready either, the pool replaces the Machine")
        }
        None => format!("{said}: it is gone. Delete the Machine, so that another takes its place"),
        Some(State::Stopped { error: Some(error), .. }) => format!("{said}: {error}"),
        Some(State::Stopped { code: Some(code), .. }) => {
            format!(
                "{said}: its init has ended with status {code}. `firstlight nodes start {name}` starts it again"
            )
        }
        Some(_) => format!("{said}. `firstlight nodes start {name}` starts it again"),
    }
}
