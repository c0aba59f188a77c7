//! Performs the steps of a plan.

use std::any::Any;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::Instrument;

use super::{Act, Event, Named, Plan, Step};
use crate::applied::Applied;
use crate::clusters::Workload;
use crate::controller::Action;
use crate::error::{Error, Result};
use crate::events::Recorder;
use crate::manager::Manager;
use crate::object::Kind;
use crate::objects::Objects;
use crate::planned::Outcome;

/// What the steps of a controller need.
pub struct Tools<'a> {
    controller: &'static str,
    manager: &'a Manager,
    recorder: Option<&'a Recorder>,
    applied: Option<&'a Applied>,
    /// The handle of the management cluster that was used last. A plan often has many steps in a row for objects of one kind.
    last: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'a> Tools<'a> {
    /// Creates the tools of `controller`, which records no events.
    pub fn new(controller: &'static str, manager: &'a Manager) -> Self {
        Self { controller, manager, recorder: None, applied: None, last: Mutex::default() }
    }

    /// Records the events of steps.
    #[must_use]
    pub fn events(self, recorder: &'a Recorder) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// Sends no apply that changes nothing.
    #[must_use]
    pub fn applied(self, applied: &'a Applied) -> Self {
        Self { applied: Some(applied), ..self }
    }

    /// Performs the steps of a plan that has none but those of the engine.
    pub async fn perform<K: Kind<DynamicType = ()>>(&self, plan: Plan<K>) -> Outcome<K> {
        perform(self, &(), plan).await
    }

    /// Returns the configurations that were applied last.
    ///
    /// # Errors
    /// Fails if the controller does not keep them.
    pub(super) fn known(&self) -> Result<&'a Applied> {
        self.applied
            .ok_or_else(|| Error::failed(format!("{} does not know what it has applied", self.controller)))
    }

    /// Counts a step; events count as events.
    fn count<S: Named>(&self, step: &Step<S>, outcome: &'static str) {
        if !matches!(step.act, Act::Tell(_)) {
            self.manager.metrics().step(self.controller, step.verb(), outcome);
        }
    }

    fn tell<K: Kind<DynamicType = ()>>(&self, event: &Event, object: &K) {
        if let Some(recorder) = self.recorder {
            event.record(recorder, object);
        }
    }

    /// Returns the handle on a kind of a workload cluster, or of the management cluster.
    pub(super) fn objects<K: Kind>(&self, workload: Option<&Workload>, kind: &K::DynamicType) -> Objects<K> {
        if let Some(workload) = workload {
            return workload.objects_of::<K>(kind);
        }
        let mut last = self.last.lock();
        let known = last.as_ref().and_then(|last| last.downcast_ref::<Objects<K>>());
        let is_same = |known: &&Objects<K>| {
            let other = known.dynamic_type();
            K::plural(other) == K::plural(kind) && K::api_version(other) == K::api_version(kind)
        };
        if let Some(known) = known.filter(is_same) {
            return known.clone();
        }
        let objects = self.manager.objects_of::<K>(kind);
        *last = Some(Box::new(objects.clone()));
        objects
    }
}

/// A controller with steps of its own.
pub trait Stepwise: Sync {
    /// The state that the plan depends on.
    type Observed: Sync;
    /// What only this controller can do.
    type Step: Named;

    /// Returns what the steps need.
    fn tools(&self) -> Tools<'_>;

    /// Performs a step of the controller's own; returns when to reconcile again.
    fn perform(
        &self,
        observed: &Self::Observed,
        step: &Self::Step,
    ) -> impl Future<Output = Result<Action>> + Send;
}

/// The controllers without steps of their own.
impl Stepwise for Tools<'_> {
    type Observed = ();
    type Step = Infallible;

    fn tools(&self) -> Tools<'_> {
        let Tools { controller, manager, recorder, applied, .. } = *self;
        Tools { recorder, applied, ..Tools::new(controller, manager) }
    }

    async fn perform(&self, (): &(), step: &Infallible) -> Result<Action> {
        match *step {}
    }
}

/// What a step has done.
struct Done {
    is_changed: bool,
    action: Action,
}

impl Done {
    fn changed(is_changed: bool) -> Self {
        Self { is_changed, action: Action::done() }
    }
}

/// Performs the steps of `plan` in their order. Each has a span, and counts as `changed`, `unchanged`, `failed` or `skipped`.
pub async fn perform<C: Stepwise, K: Kind<DynamicType = ()>>(
    controller: &C,
    observed: &C::Observed,
    plan: Plan<K, C::Step>,
) -> Outcome<K> {
    let Plan { wanted, steps, errors, mut action, is_written } = plan;
    let tools = controller.tools();
    let mut errors: Vec<Error> = errors.into_iter().map(Error::Failed).collect();
    let mut failed = BTreeSet::new();
    for step in steps.list {
        let verb = step.verb();
        if step.needs.as_ref().is_some_and(|name| failed.contains(name)) {
            tools.count(&step, "skipped");
            // What needs this step does not happen, either.
            failed.extend(step.name);
            continue;
        }
        let Some(place) = step.place(tools.manager) else {
            tools.count(&step, "skipped");
            continue;
        };
        let span = tracing::debug_span!("step", step = verb, target = %step.target());
        let result = match &step.act {
            Act::Write(write) => {
                write.perform(&tools, place.as_deref()).instrument(span).await.map(Done::changed)
            }
            Act::Tell(event) => {
                tools.tell(event, &wanted);
                Ok(Done::changed(true))
            }
            Act::Own(own) => {
                let result = controller.perform(observed, own).instrument(span).await;
                result.map(|action| Done { is_changed: true, action })
            }
        };
        match step.ended(&tools, &wanted, result) {
            Ok(next) => action = action.min(next),
            Err(error) => {
                failed.extend(step.name);
                errors.push(error);
            }
        }
    }
    Outcome { wanted: is_written.then_some(wanted), errors, action }
}

impl<S: Named> Step<S> {
    /// Returns the workload cluster of the step, `Some(None)` for the management cluster; `None` if it is not connected.
    fn place(&self, manager: &Manager) -> Option<Option<Arc<Workload>>> {
        match &self.cluster {
            Some(cluster) => manager.clusters().get(cluster).ok().map(Some),
            None => Some(None),
        }
    }

    /// Counts the step and records its event about `object`.
    fn ended<K: Kind<DynamicType = ()>>(
        &self,
        tools: &Tools<'_>,
        object: &K,
        result: Result<Done>,
    ) -> Result<Action> {
        let result = match result {
            Err(error) if self.is_done_when_gone && error.is_not_found() => Ok(Done::changed(false)),
            other => other.map_err(|error| error.without_suffix(&self.suffix)),
        };
        if let Some(event) = self.event(result.as_ref().err()) {
            tools.tell(&event, object);
        }
        let outcome = match &result {
            Ok(done) if done.is_changed => "changed",
            Ok(_) => "unchanged",
            Err(_) => "failed",
        };
        tools.count(self, outcome);
        result.map(|done| done.action)
    }
}
