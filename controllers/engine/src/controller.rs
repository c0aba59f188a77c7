//! A controller: its own kind, the kinds it watches besides, and the function that reconciles one object.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemas::cluster::Machine;
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::cache::Change;
use crate::error::{Error, Result};
use crate::failures::Failures;
use crate::manager::Manager;
use crate::metrics::Outcome;
use crate::names;
use crate::object::{Kind, NamespacedName, Request, label};
use crate::objects::Objects;
use crate::owners;
use crate::queue::{Cause, Queue};
use crate::resync::{self, Names};

/// When to reconcile an object again without an event. Only needed for a point in time, which no event
/// reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Action {
    /// Delay until the next reconcile; `None` for no further reconcile.
    pub requeue_after: Option<Duration>,
}

impl Action {
    /// Returns the action that only waits for events.
    pub fn done() -> Self {
        Self::default()
    }

    /// Returns the action that reconciles again after `delay`, or earlier on an event.
    pub fn requeue_after(delay: Duration) -> Self {
        Self { requeue_after: Some(delay) }
    }

    /// Returns the earlier of the two actions.
    pub fn min(self, other: Self) -> Self {
        let requeue_after = match (self.requeue_after, other.requeue_after) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self { requeue_after }
    }
}

/// Reconciles objects of one kind.
pub trait Reconciler: Send + Sync + 'static {
    /// Reconciles the object named by `request`. If the object does not exist, there is nothing to do. An
    /// error is retried with back-off.
    fn reconcile(&self, request: Request) -> impl Future<Output = Result<Action>> + Send;
}

/// Default number of objects of a controller that are reconciled at the same time.
const CONCURRENCY: usize = 10;

/// A reconcile that takes longer is cancelled, as if the process had ended there, and retried, since the
/// response it awaits may never come. Upstream's managers have the same limit.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Builds and starts a controller.
pub struct Controller {
    name: &'static str,
    manager: Manager,
    queue: Arc<Queue>,
    /// Group and kind of the objects that are reconciled.
    kind: (String, String),
    concurrency: usize,
    time_limit: Duration,
    synced: Vec<BoxFuture<'static, ()>>,
    resync: Option<Names>,
    is_filtered_out: Option<Filter>,
}

/// Returns whether an object exists that the watch filter leaves to another process.
type Filter = Box<dyn Fn(&Request) -> bool + Send + Sync>;

impl Controller {
    /// Creates a controller; `name` appears in logs, events and metrics.
    pub fn new(manager: &Manager, name: &'static str) -> Self {
        let queue = Arc::new(Queue::new(manager.clock().clone(), manager.metrics().of_queue(name)));
        manager.add_queue(name, &queue);
        Self {
            name,
            manager: manager.clone(),
            queue,
            kind: Default::default(),
            concurrency: CONCURRENCY,
            time_limit: TIME_LIMIT,
            synced: Vec::new(),
            resync: None,
            is_filtered_out: None,
        }
    }

    /// Reconciles each object of this kind when it changes, and once in each interval of the resync. If the manager has a watch filter,
    /// objects without its label are not reconciled.
    pub fn reconciles<K: Kind>(self, objects: &Objects<K>) -> Self {
        self.reconciles_if(objects, |_| true)
    }

    /// Like [`Controller::reconciles`], but only for the changes that matter: for a kind whose status other controllers write.
    pub fn reconciles_if<K: Kind>(
        mut self,
        objects: &Objects<K>,
        matters: impl Fn(&Change<K>) -> bool + Send + Sync + 'static,
    ) -> Self {
        let dynamic = objects.dynamic_type();
        self.kind = (K::group(dynamic).into_owned(), K::kind(dynamic).into_owned());
        let cache = objects.cache().clone();
        self.resync = Some(Box::new(move || requests_of(&cache.all())));
        if let Some(value) = self.manager.settings().watch_filter.clone() {
            let cache = objects.cache().clone();
            self.is_filtered_out = Some(Box::new(move |request| {
                let object = cache.get(request);
                object
                    .is_some_and(|object| label(object.as_ref(), names::WATCH_FILTER) != Some(value.as_str()))
            }));
        }
        self.watches(objects, move |change| if matters(change) { vec![change.name()] } else { Vec::new() })
    }

    /// Leaves out the resync, for a controller that reads the state outside of the cluster at intervals of its own. Called after
    /// [`Controller::reconciles`].
    pub fn without_resync(mut self) -> Self {
        self.resync = None;
        self
    }

    /// Reconciles the objects that `mapper` returns whenever an object of this kind changes.
    pub fn watches<K: Kind>(
        mut self,
        objects: &Objects<K>,
        mapper: impl Fn(&Change<K>) -> Vec<Request> + Send + Sync + 'static,
    ) -> Self {
        objects.notify(&self.queue, &K::kind(objects.dynamic_type()), mapper);
        let cache = objects.cache().clone();
        self.synced.push(async move { cache.wait_until_synced().await }.boxed());
        self
    }

    /// Reconciles the owners of `group` and `kind` (any owner reference, not only the controller's) when an
    /// object of this kind changes.
    pub fn owns<K: Kind>(self, objects: &Objects<K>, group: &'static str, kind: &'static str) -> Self {
        self.watches(objects, move |change| owner_requests(change, group, kind))
    }

    /// Waits for the cache of this kind before the first reconcile, without reacting to its changes.
    pub fn reads<K: Kind>(mut self, objects: &Objects<K>) -> Self {
        let cache = objects.cache().clone();
        self.synced.push(async move { cache.wait_until_synced().await }.boxed());
        self
    }

    /// Sets how many objects are reconciled at the same time.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// Sets how long a reconcile may take before it is cancelled and retried.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Returns the queue, for other sources of events: [`crate::ClusterCache`], and caches of kinds found at
    /// run time.
    pub fn queue(&self) -> Arc<Queue> {
        self.queue.clone()
    }

    /// Starts the controller; it ends with the manager.
    pub fn start(self, reconciler: impl Reconciler) {
        let manager = self.manager.clone();
        manager.metrics().started(self.name, self.concurrency);
        manager.startup().follow(self.name, &self.kind.0, &self.kind.1, &self.queue);
        manager.spawn(self.run(Arc::new(reconciler)));
    }

    async fn run<R: Reconciler>(self, reconciler: Arc<R>) {
        for synced in self.synced {
            synced.await;
        }
        self.queue.begin();
        self.manager.startup().confirmed();
        if let Some(names) = self.resync {
            self.manager.spawn(resync::run(self.manager.clone(), self.queue.clone(), names));
        }
        let mut running = JoinSet::new();
        let failures = Arc::<Failures>::default();
        loop {
            if running.len() >= self.concurrency {
                running.join_next().await;
                continue;
            }
            tokio::select! {
                biased;
                Some(_) = running.join_next(), if !running.is_empty() => {}
                (request, cause) = self.queue.next() => {
                    if self.is_filtered_out.as_ref().is_some_and(|is_filtered_out| is_filtered_out(&request)) {
                        let is_confirmed = self.queue.tried(&request, None);
                        self.queue.done(&request);
                        if is_confirmed {
                            self.manager.startup().confirmed();
                        }
                        continue;
                    }
                    let (name, manager) = (self.name, self.manager.clone());
                    let (queue, failures) = (self.queue.clone(), failures.clone());
                    let task = Task { name, manager, queue, failures, time_limit: self.time_limit };
                    running.spawn(work(task, reconciler.clone(), request, cause));
                }
            }
        }
    }
}

/// The inputs of a reconcile besides the reconciler.
struct Task {
    name: &'static str,
    manager: Manager,
    queue: Arc<Queue>,
    failures: Arc<Failures>,
    time_limit: Duration,
}

/// Reconciles one object. A panic ends this reconcile only and is retried like an error.
async fn work<R: Reconciler>(task: Task, reconciler: Arc<R>, request: Request, cause: Cause) {
    let Task { name, manager, queue, failures, time_limit } = task;
    let (start, active) = (manager.clock().monotonic(), manager.metrics().active(name));
    let span = tracing::info_span!("reconcile", controller = name, object = %request, %cause);
    let reconcile = reconciler.reconcile(request.clone()).instrument(span);
    let reconcile = tokio::time::timeout(time_limit, reconcile);
    let too_long = |_| Err(Error::failed(format!("it took longer than {} s", time_limit.as_secs())));
    let result = std::panic::AssertUnwindSafe(reconcile).catch_unwind().await;
    let result = result.map(|reconciled| reconciled.unwrap_or_else(too_long));
    // The other errors are tried again.
    let error = match &result {
        Ok(Ok(_)) | Ok(Err(Error::Terminal(_))) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("it panicked".to_owned()),
    };
    let is_confirmed = queue.tried(&request, error);
    let outcome = match result {
        Ok(Ok(action)) => {
            queue.forget(&request);
            failures.forget(&request);
            if let Some(delay) = action.requeue_after {
                queue.add_after(request.clone(), delay, Cause::Requeue);
            }
            if action.requeue_after.is_some() { Outcome::RequeueAfter } else { Outcome::Success }
        }
        Ok(Err(error)) => {
            let delay = queue.add_after_failure(request.clone());
            failures.log(name, &request, &error, delay);
            Outcome::Error
        }
        Err(panic) => {
            let delay = queue.add_after_failure(request.clone());
            let message = panic_message(panic.as_ref());
            tracing::error!(controller = name, object = %request, ?delay, message, "reconcile panicked");
            Outcome::Panic
        }
    };
    drop(active);
    manager.metrics().reconciled(name, outcome, manager.clock().monotonic() - start);
    queue.done(&request);
    if is_confirmed {
        manager.startup().confirmed();
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Returns the requests for these objects.
pub fn requests_of<'a, K: Kind>(objects: impl IntoIterator<Item = &'a Arc<K>>) -> Vec<Request> {
    objects.into_iter().map(|object| NamespacedName::of(object.as_ref())).collect()
}

/// Returns the infrastructure objects of the kind `K` that a Machine refers to, or has referred to.
pub fn infrastructure_requests<K: Kind<DynamicType = ()>>(change: &Change<Machine>) -> Vec<Request> {
    let reference = |machine: &Arc<Machine>| {
        let reference = &machine.spec.infrastructure_ref;
        let is_one = reference.kind == K::kind(&()) && reference.api_group == K::group(&());
        is_one.then(|| NamespacedName::new(change.name().namespace, reference.name.as_str()))
    };
    let mut requests: Vec<Request> = change.objects().filter_map(reference).collect();
    requests.dedup();
    requests
}

/// Returns the owners of `group` and `kind` that the object has, or had before the change.
pub fn owner_requests<K: Kind>(change: &Change<K>, group: &str, kind: &str) -> Vec<Request> {
    let mut requests = BTreeSet::new();
    for object in change.objects() {
        let namespace = object.meta().namespace.clone().unwrap_or_default();
        for owner in object.meta().owner_references.iter().flatten() {
            if owner.kind == kind && owners::group(owner) == group {
                requests.insert(NamespacedName::new(namespace.clone(), owner.name.clone()));
            }
        }
    }
    requests.into_iter().collect()
}
