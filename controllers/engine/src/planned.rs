//! The frame of a controller: observe → plan → apply. It handles what all kinds have in common: the Cluster of an object, pausing,
//! finalizers, failures, and the write of the object itself.
//!
//! Each kind has a folder with these files: `observe` reads the state that the rules depend on, `plan` contains the rules and is pure,
//! `apply` performs the plan, unless it is a list of steps ([`crate::steps`]), and `status` computes conditions and counters.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use schemas::HasConditions;
use schemas::cluster::Cluster;
use tokio::time::Instant;

use crate::controller::{Action, Reconciler};
use crate::error::{Error, Result, unless_gone};
use crate::manager::Manager;
use crate::object::{Kind, Request, is_deleting};
use crate::objects::Objects;
use crate::patch::Unwritten;
use crate::{conditions, finalizer, paused};

/// The Cluster of an object.
#[derive(Debug)]
pub enum Membership {
    /// The object belongs to this Cluster.
    Of(Arc<Cluster>),
    /// The object has no Cluster and is reconciled without one. Only its own annotation can pause it.
    None,
    /// The object has no Cluster yet, and is not reconciled before it has one. An event triggers that reconcile.
    Waits,
    /// The Cluster that the object names does not exist. If the object is being deleted, its finalizer is removed as soon as
    /// [`Planned::has_parts`] returns false; its parts are not deleted, because the Cluster may have been moved to another server. In all
    /// other cases the reconcile returns the error, if there is one.
    Missing(Option<Error>),
}

/// The result of [`Planned::apply`].
#[derive(Debug)]
pub struct Outcome<K> {
    /// The wanted state of the object, which the frame writes; `None` if there is nothing to write.
    pub wanted: Option<K>,
    /// The errors of the steps. If there is one, `status.observedGeneration` does not advance.
    pub errors: Vec<Error>,
    /// When to reconcile again.
    pub action: Action,
}

impl<K> Outcome<K> {
    /// Returns the outcome of steps that all succeeded, with nothing to write.
    pub fn done(action: Action) -> Self {
        Self { wanted: None, errors: Vec::new(), action }
    }

    /// Returns the outcome of a failed step on which all other steps depend.
    pub fn failed(error: Error) -> Self {
        Self { wanted: None, errors: vec![error], action: Action::done() }
    }
}

/// To whom a controller leaves an object of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// Another controller of this process has it. Nothing is written.
    ToAnotherHere,
    /// No controller of this process has it. The condition `Ready` says so with this message, unless somebody else has written that one.
    ToNobodyHere(String),
}

/// A controller with the steps observe, plan and apply.
pub trait Planned: Send + Sync + 'static {
    /// The reconciled kind.
    type Object: Kind<DynamicType = ()> + HasConditions + PartialEq;
    /// The state that the plan depends on.
    type Observed: Send + Sync;
    /// The plan: the steps to perform and the wanted status.
    type Plan: Send;

    /// The finalizer. It is added before the first step that creates something.
    const FINALIZER: Option<&'static str>;
    /// The types of conditions that only this controller writes.
    const OWNED: &'static [&'static str];
    /// Whether a change of nothing but messages is debounced ([`MESSAGE_DEBOUNCE`]): for kinds whose messages change with each step of a
    /// machine. The messages of all other kinds are written at once.
    const DEBOUNCES_MESSAGES: bool = false;

    /// Returns the cache of the kind.
    fn objects(&self) -> &Objects<Self::Object>;

    /// Returns the manager of all controllers.
    fn manager(&self) -> &Manager;

    /// Returns to whom this controller leaves `object`; `None` if the object is its own. The frame then adds and removes no finalizer.
    fn leaves(&self, _object: &Self::Object) -> Option<Left> {
        None
    }

    /// Returns the Cluster of `object`.
    fn cluster(&self, object: &Arc<Self::Object>) -> Membership;

    /// Returns whether objects still exist that were created for `object`. Called if its Cluster is missing.
    fn has_parts(&self, _object: &Arc<Self::Object>) -> impl Future<Output = bool> + Send {
        std::future::ready(false)
    }

    /// Drops the state that is kept in memory for a deleted object.
    fn forget(&self, _request: &Request) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Performs the steps that are allowed for a paused object, before the object is written.
    fn while_paused(
        &self,
        _wanted: &mut Self::Object,
        _cluster: Option<&Arc<Cluster>>,
    ) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Ok(()))
    }

    /// Reads the state that the plan depends on; returns `None` if there is nothing to do.
    fn observe(
        &self,
        object: Arc<Self::Object>,
        cluster: Option<Arc<Cluster>>,
    ) -> impl Future<Output = Result<Option<Self::Observed>>> + Send;

    /// Computes the plan. It contains all rules and is pure.
    fn plan(observed: &Self::Observed, now: DateTime<Utc>) -> Self::Plan;

    /// Performs the plan. A failed step does not prevent the steps that do not depend on it.
    fn apply(
        &self,
        observed: &Self::Observed,
        plan: Self::Plan,
    ) -> impl Future<Output = Outcome<Self::Object>> + Send;

    /// Reports the errors of the steps in the conditions of `wanted`.
    fn report(_wanted: &mut Self::Object, _errors: &[&Error], _now: DateTime<Utc>) {}

    /// Returns `status.observedGeneration`, for kinds that have this field.
    fn observed_generation(_object: &mut Self::Object) -> Option<&mut Option<i64>> {
        None
    }
}

/// The debounce of a change of nothing but messages. The message of a Cluster changes with each step of each of its
/// Machines, and each write of it would cause further reconciles.
const MESSAGE_DEBOUNCE: Duration = Duration::from_millis(500);

/// The reason of `Ready` on an object that is left to another controller.
const LEFT_ALONE: &str = "NotReconciledHere";

/// Runs a [`Planned`] controller as a [`Reconciler`].
pub struct Frame<P> {
    planned: P,
    /// The objects whose texts have changed, each with the time at which it was first seen.
    texts: Mutex<BTreeMap<Request, Instant>>,
}

impl<P: Planned> Frame<P> {
    /// Creates the frame of `planned`.
    pub fn new(planned: P) -> Self {
        Self { planned, texts: Mutex::default() }
    }
}

impl<P: Planned> Reconciler for Frame<P> {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(object) = self.planned.objects().get(&request) else {
            self.texts.lock().remove(&request);
            self.planned.forget(&request).await;
            return Ok(Action::done());
        };
        match self.planned.leaves(&object) {
            Some(Left::ToAnotherHere) => return Ok(Action::done()),
            Some(Left::ToNobodyHere(why)) => return self.leave(&object, why).await,
            None => {}
        }
        let cluster = match self.planned.cluster(&object) {
            Membership::Of(cluster) => Some(cluster),
            Membership::None => None,
            Membership::Waits => return Ok(Action::done()),
            Membership::Missing(error) => return self.without_cluster(&object, error).await,
        };
        let object = match P::FINALIZER {
            Some(finalizer) => finalizer::ensure(self.planned.objects(), &object, finalizer).await?,
            None => object,
        };
        if self.is_paused(&object, cluster.as_ref()).await? {
            return Ok(Action::done());
        }
        let Some(observed) = self.planned.observe(object.clone(), cluster).await? else {
            return Ok(Action::done());
        };
        let plan = P::plan(&observed, self.planned.manager().clock().now());
        let outcome = self.planned.apply(&observed, plan).await;
        self.write_back(&request, &object, outcome).await
    }
}

impl<P: Planned> Frame<P> {
    /// Says of an object of another controller that it is left alone. A condition that the other controller wrote stays as it is: two
    /// that write one condition would never come to rest.
    async fn leave(&self, object: &Arc<P::Object>, why: String) -> Result<Action> {
        let is_free = object.condition("Ready").is_none_or(|ready| ready.reason == LEFT_ALONE);
        if is_free && !is_deleting(object.as_ref()) {
            let mut wanted = object.as_ref().clone();
            let now = self.planned.manager().clock().now();
            conditions::set(&mut wanted, now, conditions::is_false("Ready", LEFT_ALONE, why));
            unless_gone(self.planned.objects().patch(object, &wanted, &["Ready"]).await)?;
        }
        Ok(Action::done())
    }

    /// Removes the finalizer of an object without Cluster, if it is being deleted and has no parts.
    async fn without_cluster(&self, object: &Arc<P::Object>, error: Option<Error>) -> Result<Action> {
        let is_paused = !paused::causes(object.as_ref(), None).is_empty();
        let keeps = is_paused || !is_deleting(object.as_ref()) || self.planned.has_parts(object).await;
        match (P::FINALIZER, error) {
            (Some(finalizer), _) if !keeps => {
                let mut wanted = object.as_ref().clone();
                finalizer::remove(&mut wanted, finalizer);
                self.planned.objects().patch(object, &wanted, &[]).await?;
                Ok(Action::done())
            }
            (_, Some(error)) => Err(error),
            (_, None) => Ok(Action::done()),
        }
    }

    /// Returns whether the object is paused, and writes the `Paused` condition.
    async fn is_paused(&self, object: &Arc<P::Object>, cluster: Option<&Arc<Cluster>>) -> Result<bool> {
        let mut wanted = object.as_ref().clone();
        let now = self.planned.manager().clock().now();
        if !paused::set(&mut wanted, cluster.map(AsRef::as_ref), now) {
            return Ok(false);
        }
        self.planned.while_paused(&mut wanted, cluster).await?;
        unless_gone(self.planned.objects().patch(object, &wanted, P::OWNED).await)?;
        Ok(true)
    }

    /// Writes the object after the steps. Returns the errors, or else when to reconcile again.
    async fn write_back(
        &self,
        request: &Request,
        read: &Arc<P::Object>,
        outcome: Outcome<P::Object>,
    ) -> Result<Action> {
        let Outcome { wanted, mut errors, action } = outcome;
        let Some(mut wanted) = wanted else { return Error::aggregate(errors).map(|()| action) };
        if !errors.is_empty() {
            let before =
                P::observed_generation(&mut read.as_ref().clone()).and_then(|generation| *generation);
            if let Some(generation) = P::observed_generation(&mut wanted) {
                *generation = before;
            }
            let reported: Vec<&Error> = errors.iter().filter(|error| is_reported(error)).collect();
            if !reported.is_empty() {
                P::report(&mut wanted, &reported, self.planned.manager().clock().now());
            }
            errors.retain(|error| !matches!(error, Error::Terminal(_)));
        }
        let unwritten = self.planned.objects().compare(read, &wanted).unwrap_or_else(|error| {
            errors.push(error);
            None
        });
        if P::DEBOUNCES_MESSAGES
            && errors.is_empty()
            && unwritten.as_ref().is_some_and(Unwritten::is_text)
            && let Some(rest) = self.text_waits(request)
        {
            return Ok(action.min(Action::requeue_after(rest)));
        }
        self.texts.lock().remove(request);
        if let Some(unwritten) = unwritten {
            errors.extend(unless_gone(self.planned.objects().write(read, unwritten, P::OWNED).await).err());
        }
        Error::aggregate(errors).map(|()| action)
    }

    /// Returns how long a change of texts still waits; `None` if it is to be written now.
    fn text_waits(&self, request: &Request) -> Option<Duration> {
        let now = self.planned.manager().clock().monotonic();
        let since = *self.texts.lock().entry(request.clone()).or_insert(now);
        Some(MESSAGE_DEBOUNCE.saturating_sub(now - since)).filter(|rest| !rest.is_zero())
    }
}

/// Returns whether conditions report an error. Conflicts are normal when several controllers write one object, and other conditions
/// report the connection to a workload cluster.
fn is_reported(error: &Error) -> bool {
    !error.is_conflict() && !matches!(error, Error::NotConnected(_))
}
