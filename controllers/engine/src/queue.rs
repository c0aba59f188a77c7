//! The work queue of a controller: it holds each object at most once, runs one reconcile per object at a
//! time, and adds delays and back-off.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use machinery::clock::Clock;
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Request;

mod cause;

pub use cause::Cause;

/// Delay after the first error; it doubles with each further error.
pub const BACK_OFF_BASE: Duration = Duration::from_millis(5);
/// The longest delay between two attempts.
const BACK_OFF_MAX: Duration = Duration::from_secs(120);
/// The longest delay before an object is reconciled again because of an event during a reconcile that failed. Its own write of what failed
/// is such an event: without a delay, a failure whose text changes each time would be repeated without end.
const EVENT_DELAY_MAX: Duration = Duration::from_secs(1);
/// The shortest time between two reconciles of an object because of events. They come in bursts, for example if all Machines of a cluster start at the same time:
/// the first one is handled at once, and all others together.
pub const SPACING: Duration = Duration::from_millis(20);

/// A queue of [`Request`]s.
///
/// Invariant: a request that is added while its object is being reconciled is processed again afterwards,
/// never at the same time.
pub struct Queue {
    clock: Clock,
    metrics: QueueMetrics,
    state: Mutex<State>,
    changed: Notify,
}

/// The metrics of a queue.
#[derive(Clone)]
pub struct QueueMetrics {
    /// Objects that were queued.
    pub adds: Counter,
    /// Objects that were queued for a later time.
    pub retries: Counter,
    /// Seconds that objects waited for a reconcile.
    pub waited: Histogram,
    /// Seconds that reconciles took.
    pub worked: Histogram,
}

impl Default for QueueMetrics {
    /// Returns metrics that are not registered.
    fn default() -> Self {
        let (adds, retries) = (Counter::default(), Counter::default());
        Self { adds, retries, waited: Histogram::new([]), worked: Histogram::new([]) }
    }
}

/// The load of a queue at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// The number of objects that wait for a reconcile.
    pub waiting: usize,
    /// The sum of the durations of all running reconciles.
    pub unfinished: Duration,
    /// The duration of the longest running reconcile.
    pub longest: Duration,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Request>,
    /// The requests in `ready`, each with the time at which it was added.
    queued: BTreeMap<Request, Instant>,
    /// Why each request waits, now, for its time or for the end of its reconcile.
    causes: BTreeMap<Request, Cause>,
    /// The requests that are being reconciled, each with the start of its reconcile.
    working: BTreeMap<Request, Instant>,
    again: BTreeSet<Request>,
    delayed: BTreeMap<(Instant, u64), Request>,
    due: BTreeMap<Request, (Instant, u64)>,
    sequence: u64,
    /// The last start of each request that started within the last [`SPACING`].
    started: BTreeMap<Request, Instant>,
    /// All starts within the last [`SPACING`], the oldest first.
    starts: VecDeque<(Instant, Request)>,
    failures: BTreeMap<Request, u32>,
    /// Whether the controller has not begun: what is added then is what was there before.
    has_begun: bool,
    /// The requests that must be reconciled before the state of their objects is known, each with the error of the last attempt.
    expected: BTreeMap<Request, Option<String>>,
}

impl State {
    /// Adds `request` if it does not wait already, now or as soon as it may start again.
    fn add_spaced(&mut self, request: Request, now: Instant) -> Added {
        if !self.has_begun {
            self.expected.insert(request.clone(), None);
        }
        let may_start = self.started.get(&request).map(|started| *started + SPACING);
        match may_start.filter(|at| *at > now && !self.working.contains_key(&request)) {
            None => self.add(request, now),
            Some(at) => {
                self.add_at(request, at);
                Added::Delayed
            }
        }
    }

    /// Adds `request` if it does not wait already.
    fn add(&mut self, request: Request, now: Instant) -> Added {
        if self.working.contains_key(&request) {
            return if self.again.insert(request) { Added::Later } else { Added::Known };
        }
        if self.queued.contains_key(&request) {
            return Added::Known;
        }
        self.queued.insert(request.clone(), now);
        self.ready.push_back(request);
        Added::Ready
    }

    fn add_at(&mut self, request: Request, at: Instant) {
        if let Some(due) = self.due.get(&request) {
            if due.0 <= at {
                return;
            }
            self.delayed.remove(due);
        }
        self.sequence += 1;
        let key = (at, self.sequence);
        self.delayed.insert(key, request.clone());
        self.due.insert(request, key);
    }

    /// Records that `request` starts, and forgets starts that no longer delay anything.
    fn start(&mut self, request: &Request, now: Instant) {
        while let Some((at, earlier)) = self.starts.pop_front_if(|(at, _)| now - *at >= SPACING) {
            if self.started.get(&earlier) == Some(&at) {
                self.started.remove(&earlier);
            }
        }
        self.started.insert(request.clone(), now);
        self.starts.push_back((now, request.clone()));
        self.working.insert(request.clone(), now);
    }

    /// Adds the delayed requests that are due. Returns the number of those that did not wait already.
    fn release_due(&mut self, now: Instant) -> u64 {
        let mut added = 0;
        while let Some((key, _)) = self.delayed.first_key_value() {
            if key.0 > now {
                break;
            }
            if let Some((_, request)) = self.delayed.pop_first() {
                self.due.remove(&request);
                added += u64::from(self.add(request, now) != Added::Known);
            }
        }
        added
    }

    /// Removes and returns the next request, its cause, and the time for which it waited. Its delayed request is dropped, because the reconcile
    /// decides anew when it must run again.
    fn pop(&mut self, now: Instant) -> Option<(Request, Cause, Duration)> {
        let request = self.ready.pop_front()?;
        let since = self.queued.remove(&request).unwrap_or(now);
        if let Some(key) = self.due.remove(&request) {
            self.delayed.remove(&key);
        }
        self.start(&request, now);
        let cause = self.causes.remove(&request).unwrap_or(Cause::Requeue);
        Some((request, cause, now - since))
    }
}

/// The result of an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Added {
    /// The request waits for a reconcile.
    Ready,
    /// The request waits for its time.
    Delayed,
    /// The object is being reconciled, and will be reconciled again afterwards.
    Later,
    /// The request was already in the queue.
    Known,
}

impl Queue {
    /// Creates an empty queue that measures delays with `clock` and counts in `metrics`.
    pub fn new(clock: Clock, metrics: QueueMetrics) -> Self {
        Self { clock, metrics, state: Mutex::default(), changed: Notify::new() }
    }

    /// Requests a reconcile because of an event: now, or [`SPACING`] after the start of the last one.
    pub fn add(&self, request: Request, cause: Cause) {
        let added = {
            let mut state = self.state.lock();
            match state.causes.get_mut(&request) {
                Some(known) if known.is_time() => *known = cause,
                Some(_) => {}
                None => drop(state.causes.insert(request.clone(), cause)),
            }
            state.add_spaced(request, self.clock.monotonic())
        };
        if matches!(added, Added::Ready | Added::Later) {
            self.metrics.adds.inc();
        }
        if matches!(added, Added::Ready | Added::Delayed) {
            self.changed.notify_one();
        }
    }

    /// Like [`Queue::add`], and [`Queue::expected`] contains the request until it was reconciled.
    pub fn add_expected(&self, request: Request, cause: Cause) {
        self.state.lock().expected.insert(request.clone(), None);
        self.add(request, cause);
    }

    /// Records that the controller begins to reconcile.
    pub fn begin(&self) {
        self.state.lock().has_begun = true;
    }

    /// Returns whether [`Queue::begin`] was called.
    pub(crate) fn has_begun(&self) -> bool {
        self.state.lock().has_begun
    }

    /// Returns the requests that were there when the controller began, or came with [`Queue::add_expected`], and were not reconciled
    /// since; each with the error of the last attempt.
    pub fn expected(&self) -> Vec<(Request, Option<String>)> {
        let state = self.state.lock();
        state.expected.iter().map(|(request, error)| (request.clone(), error.clone())).collect()
    }

    /// Records the end of a reconcile: it succeeded, or failed with `error`. Called before [`Queue::done`]. Returns whether
    /// [`Queue::expected`] has lost the request. If something has happened to the object meanwhile, only the next reconcile counts.
    pub fn tried(&self, request: &Request, error: Option<String>) -> bool {
        let mut state = self.state.lock();
        let is_stale = error.is_some() || state.again.contains(request);
        match state.expected.get_mut(request) {
            Some(last) if is_stale => {
                *last = error;
                false
            }
            Some(_) => state.expected.remove(request).is_some(),
            None => false,
        }
    }

    /// Requests a reconcile after `delay`, unless an earlier one is scheduled.
    pub fn add_after(&self, request: Request, delay: Duration, cause: Cause) {
        self.metrics.retries.inc();
        if delay.is_zero() {
            return self.add(request, cause);
        }
        {
            let mut state = self.state.lock();
            state.causes.entry(request.clone()).or_insert(cause);
            state.add_at(request, self.clock.monotonic() + delay);
        }
        self.changed.notify_one();
    }

    /// Requests a reconcile after the back-off for one more failure; returns the delay.
    pub fn add_after_failure(&self, request: Request) -> Duration {
        let failures = {
            let mut state = self.state.lock();
            let failures = state.failures.entry(request.clone()).or_insert(0);
            *failures = failures.saturating_add(1);
            *failures
        };
        let delay = back_off(failures);
        self.add_after(request, delay, Cause::Retry);
        delay
    }

    /// Resets the failure count of an object.
    pub fn forget(&self, request: &Request) {
        self.state.lock().failures.remove(request);
    }

    /// Waits for the next object to reconcile, and returns it with the cause. [`Queue::done`] must be called
    /// afterwards.
    pub async fn next(&self) -> (Request, Cause) {
        loop {
            let changed = self.changed.notified();
            let earliest = {
                let (now, mut state) = (self.clock.monotonic(), self.state.lock());
                self.metrics.adds.inc_by(state.release_due(now));
                if let Some((request, cause, waited)) = state.pop(now) {
                    self.metrics.waited.observe(waited.as_secs_f64());
                    return (request, cause);
                }
                state.delayed.first_key_value().map(|(key, _)| key.0)
            };
            match earliest {
                None => changed.await,
                Some(at) => tokio::select! {
                    biased;
                    () = changed => {}
                    () = tokio::time::sleep_until(at) => {}
                },
            }
        }
    }

    /// Marks the reconcile of an object as finished.
    pub fn done(&self, request: &Request) {
        let (now, mut state) = (self.clock.monotonic(), self.state.lock());
        if let Some(since) = state.working.remove(request) {
            self.metrics.worked.observe((now - since).as_secs_f64());
        }
        if !state.again.remove(request) {
            return;
        }
        match state.failures.get(request).copied() {
            Some(failures) => {
                state.add_at(request.clone(), now + back_off(failures).min(EVENT_DELAY_MAX));
            }
            None => {
                state.add_spaced(request.clone(), now);
            }
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Returns the current load.
    pub fn load(&self) -> Load {
        let (now, state) = (self.clock.monotonic(), self.state.lock());
        let running = state.working.values().map(|since| now - *since);
        Load {
            waiting: state.ready.len(),
            unfinished: running.clone().sum(),
            longest: running.max().unwrap_or_default(),
        }
    }

    /// Returns how many starts delay the events of their objects.
    pub fn spaced(&self) -> usize {
        self.state.lock().starts.len()
    }

    /// Returns how many objects are ready to be reconciled.
    pub fn len(&self) -> usize {
        self.state.lock().ready.len()
    }

    /// Returns whether no object is ready to be reconciled.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether no object is ready, being reconciled, or due within `horizon`.
    pub fn is_idle(&self, horizon: Duration) -> bool {
        let until = self.clock.monotonic() + horizon;
        let state = self.state.lock();
        state.ready.is_empty()
            && state.working.is_empty()
            && state.delayed.first_key_value().is_none_or(|(key, _)| key.0 > until)
    }
}

/// Returns the delay after so many failures.
fn back_off(failures: u32) -> Duration {
    BACK_OFF_BASE.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(BACK_OFF_MAX)
}
