//! The frame of a controller: observe → plan → apply. What every kind needs around these steps (its Cluster, pause, finalizer, failures,
//! the write of the object itself) is here, once.
//!
//! A kind has a folder with these files: `observe` reads all that its rules depend on, `plan` holds the rules and is pure, `apply` does
//! what the plan says, `status` has the conditions and counters that the plan writes.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use schemas::HasConditions;
use schemas::cluster::Cluster;

use crate::controller::{Action, Reconciler};
use crate::error::{Error, Result};
use crate::manager::Manager;
use crate::object::{Kind, Request, is_deleting};
use crate::objects::Objects;
use crate::{finalizer, paused};

/// Which Cluster an object belongs to.
#[derive(Debug)]
pub enum Membership {
    /// This one.
    Of(Arc<Cluster>),
    /// There is none, and the object is reconciled all the same. Its own annotation pauses it.
    None,
    /// There is none yet, and an event tells when there is.
    Waits,
    /// The Cluster that it names does not exist, or none has taken it over. One that is being deleted is let go when nothing is left of
    /// what it made; nothing is torn down without a Cluster, as it may have been handed over to another server. The error says what to
    /// report of all others.
    Missing(Option<Error>),
}

/// What an apply has done.
#[derive(Debug)]
pub struct Outcome<K> {
    /// The object as it should be, to be written back; `None` where that was done, or is not to be done.
    pub wanted: Option<K>,
    /// The steps that failed. With one of them the object has not observed its generation.
    pub errors: Vec<Error>,
    /// When to come again.
    pub action: Action,
}

impl<K> Outcome<K> {
    /// Everything was done, and there is nothing to write back.
    pub fn done(action: Action) -> Self {
        Self { wanted: None, errors: Vec::new(), action }
    }

    /// A step failed that all others depend on.
    pub fn failed(error: Error) -> Self {
        Self { wanted: None, errors: vec![error], action: Action::done() }
    }
}

/// A controller in three steps.
pub trait Planned: Send + Sync + 'static {
    /// The kind.
    type Object: Kind<DynamicType = ()> + HasConditions + PartialEq;
    /// Everything that a plan depends on.
    type Observed: Send + Sync;
    /// The operation, an [`AlarmAction`].
    type Plan: Send;

    /// The finalizer, which an object gets before anything is made that has to be cleaned up.
    const FINALIZER: Option<&'static str>;
    /// The conditions that nobody else writes.
    const OWNED: &'static [&'static str];
    /// Whether plans put the last failure into a condition: once there is none any more, it is planned anew at once.
    const HEEDS_FAILURES: bool = false;

    /// All objects of the kind.
    fn objects(&self) -> &Objects<Self::Object>;

    /// What all controllers share.
    fn manager(&self) -> &Manager;

    /// Which Cluster `object` belongs to.
    fn cluster(&self, object: &Arc<Self::Object>) -> Membership;

    /// Whether something is left of what `object`, whose Cluster is missing, has made.
    fn has_parts(&self, _object: &Arc<Self::Object>) -> impl Future<Output = bool> + Send {
        std::future::ready(false)
    }

    /// The object is gone: what is kept of it in memory goes, too.
    fn forget(&self, _request: &Request) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// What is still done for a paused object, before it is written.
    fn while_paused(
        &self,
        _wanted: &mut Self::Object,
        _cluster: Option<&Arc<Cluster>>,
    ) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Ok(()))
    }

    /// Reads what the plan depends on; `None` while there is nothing to do. `failure` says what failed in the last apply, for plans that
    /// put it into their conditions.
    fn observe(
        &self,
        object: Arc<Self::Object>,
        cluster: Option<Arc<Cluster>>,
        failure: Option<String>,
    ) -> impl Future<Output = Result<Option<Self::Observed>>> + Send;

    /// All rules. Pure.
    fn plan(observed: &Self::Observed, now: DateTime<Utc>) -> Self::Plan;

    /// Does what the plan says, as far as it can be done.
    fn apply(
        &self,
        observed: &Self::Observed,
        plan: Self::Plan,
    ) -> impl Future<Output = Outcome<Self::Object>> + Send;

    /// Puts into the conditions of `wanted` which steps failed.
    fn report(_wanted: &mut Self::Object, _errors: &[&Error], _now: DateTime<Utc>) {}

    /// `status.observedGeneration`, for kinds that have it.
    fn observed_generation(_object: &mut Self::Object) -> Option<&mut Option<i64>> {
        None
    }
}

/// Runs a [`Planned`] controller.
pub struct Frame<P> {
    planned: P,
    /// What failed in the last apply of an object.
    failures: Mutex<BTreeMap<Request, String>>,
}

impl<P: Planned> Frame<P> {
    /// Runs `planned`.
    pub fn new(planned: P) -> Self {
        Self { planned, failures: Mutex::default() }
    }
}

impl<P: Planned> Reconciler for Frame<P> {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(object) = self.planned.objects().get(&request) else {
            self.failures.lock().remove(&request);
            self.planned.forget(&request).await;
            return Ok(Action::done());
        };
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
        let failure = self.failures.lock().get(&request).cloned();
        let Some(observed) = self.planned.observe(object.clone(), cluster, failure).await? else {
            return Ok(Action::done());
        };
        let plan = P::plan(&observed, self.planned.manager().clock().now());
        let outcome = self.planned.apply(&observed, plan).await;
        let is_over = self.remember(request, &outcome.errors) && outcome.errors.is_empty();
        let action = self.write_back(&object, outcome).await?;
        Ok(if is_over { Action::requeue_after(Duration::ZERO) } else { action })
    }
}

impl<P: Planned> Frame<P> {
    /// Keeps what failed for the next plan; whether plans heed it and there was something before.
    fn remember(&self, request: Request, errors: &[Error]) -> bool {
        let texts: Vec<String> =
            errors.iter().filter(|error| is_reported(error)).map(ToString::to_string).collect();
        let mut failures = self.failures.lock();
        let before = if texts.is_empty() {
            failures.remove(&request)
        } else {
            failures.insert(request, texts.join(", "))
        };
        P::HEEDS_FAILURES && before.is_some()
    }

    /// Lets an object go whose Cluster does not exist, if that can be done.
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

    /// Whether the object is paused; the condition that says so is written.
    async fn is_paused(&self, object: &Arc<P::Object>, cluster: Option<&Arc<Cluster>>) -> Result<bool> {
        let mut wanted = object.as_ref().clone();
        let now = self.planned.manager().clock().now();
        if !paused::set(&mut wanted, cluster.map(AsRef::as_ref), now) {
            return Ok(false);
        }
        self.planned.while_paused(&mut wanted, cluster).await?;
        self.planned.objects().patch(object, &wanted, P::OWNED).await?;
        Ok(true)
    }

    /// Writes the object back, after the steps; ends with what failed, or with when to come again.
    async fn write_back(&self, read: &Arc<P::Object>, outcome: Outcome<P::Object>) -> Result<Action> {
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
        match self.planned.objects().patch(read, &wanted, P::OWNED).await {
            // The finalizer is gone, and with it the object.
            Err(error) if error.is_not_found() && is_deleting(&wanted) => {}
            result => errors.extend(result.err()),
        }
        Error::aggregate(errors).map(|()| action)
    }
}

/// Whether a failure is one to show. Conflicts are part of the work of several controllers on one object, and the connection to a workload
/// cluster has conditions of its own.
fn is_reported(error: &Error) -> bool {
    !error.is_conflict() && !matches!(error, Error::NotConnected(_))
}
