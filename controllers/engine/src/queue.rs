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

/// Delay after the first error; it doubles with each further error.
const BACK_OFF_BASE: Duration = Duration::from_millis(5);
/// The longest delay between two attempts.
const BACK_OFF_MAX: Duration = Duration::from_secs(120);
/// The longest delay before an object is reconciled again because of an event during a reconcile that failed. Its own write of what failed
/// is such an event: without a delay, a failure whose text changes each time would be repeated without end.
const EVENT_DELAY_MAX: Duration = Duration::from_secs(1);

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
    /// The requests that are being reconciled, each with the start of its reconcile.
    working: BTreeMap<Request, Instant>,
    again: BTreeSet<Request>,
    delayed: BTreeMap<(Instant, u64), Request>,
    due: BTreeMap<Request, (Instant, u64)>,
    sequence: u64,
    failures: BTreeMap<Request, u32>,
}

impl State {
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

    /// Removes and returns the next request, and the time for which it waited. Its delayed request is dropped, because the reconcile
    /// decides anew when it must run again.
    fn pop(&mut self, now: Instant) -> Option<(Request, Duration)> {
        let request = self.ready.pop_front()?;
        let since = self.queued.remove(&request).unwrap_or(now);
        if let Some(key) = self.due.remove(&request) {
            self.delayed.remove(&key);
        }
        self.working.insert(request.clone(), now);
        Some((request, now - since))
    }
}

/// The result of an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Added {
    /// The request waits for a reconcile.
    Ready,
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

    /// Requests a reconcile now.
    pub fn add(&self, request: Request) {
        let added = self.state.lock().add(request, self.clock.monotonic());
        if added != Added::Known {
            self.metrics.adds.inc();
        }
        if added == Added::Ready {
            self.changed.notify_one();
        }
    }

    /// Requests a reconcile after `delay`, unless an earlier one is scheduled.
    pub fn add_after(&self, request: Request, delay: Duration) {
        self.metrics.retries.inc();
        if delay.is_zero() {
            return self.add(request);
        }
        self.state.lock().add_at(request, self.clock.monotonic() + delay);
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
        self.add_after(request, delay);
        delay
    }

    /// Resets the failure count of an object.
    pub fn forget(&self, request: &Request) {
        self.state.lock().failures.remove(request);
    }

    /// Waits for the next object to reconcile and returns it. The caller must call [`Queue::done`]
    /// afterwards.
    pub async fn next(&self) -> Request {
        loop {
            let changed = self.changed.notified();
            let earliest = {
                let (now, mut state) = (self.clock.monotonic(), self.state.lock());
                self.metrics.adds.inc_by(state.release_due(now));
                if let Some((request, waited)) = state.pop(now) {
                    self.metrics.waited.observe(waited.as_secs_f64());
                    return request;
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
                state.add(request.clone(), now);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &str) -> Request {
        Request::new("default", name)
    }

    #[tokio::test(start_paused = true)]
    async fn each_object_once_and_never_twice_at_a_time() {
        let queue = Queue::new(Clock::system(), QueueMetrics::default());
        queue.add(request("a"));
        queue.add(request("a"));
        queue.add(request("b"));
        assert_eq!(queue.next().await, request("a"));
        queue.add(request("a"));
        assert_eq!(queue.next().await, request("b"));
        assert!(queue.is_empty(), "a is worked on and must wait");
        tokio::time::advance(Duration::from_secs(3)).await;
        let expected =
            Load { waiting: 0, unfinished: Duration::from_secs(6), longest: Duration::from_secs(3) };
        assert_eq!(queue.load(), expected);
        assert_eq!(queue.metrics.adds.get(), 3);
        queue.done(&request("a"));
        assert_eq!(queue.next().await, request("a"));
    }

    #[tokio::test(start_paused = true)]
    async fn delays_and_back_off() {
        let clock = Clock::system();
        let start = clock.monotonic();
        let queue = Queue::new(clock.clone(), QueueMetrics::default());
        queue.add_after(request("late"), Duration::from_secs(9));
        queue.add_after(request("late"), Duration::from_secs(3));
        assert_eq!(queue.next().await, request("late"));
        assert_eq!(clock.monotonic() - start, Duration::from_secs(3));
        queue.done(&request("late"));
        let delays: Vec<u64> =
            (0..3).map(|_| queue.add_after_failure(request("bad")).as_millis() as u64).collect();
        assert_eq!(delays, [5, 10, 20]);
        queue.forget(&request("bad"));
        assert_eq!(queue.add_after_failure(request("bad")), BACK_OFF_BASE);
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_of_a_failing_reconcile_repeats_it_at_most_once_a_second() {
        let clock = Clock::system();
        let queue = Queue::new(clock.clone(), QueueMetrics::default());
        queue.add(request("bad"));
        let mut waited = Vec::new();
        let mut last = clock.monotonic();
        for _ in 0..12 {
            assert_eq!(queue.next().await, request("bad"));
            waited.push((clock.monotonic() - last).as_millis());
            last = clock.monotonic();
            // The reconcile writes what failed, which is an event.
            queue.add(request("bad"));
            queue.add_after_failure(request("bad"));
            queue.done(&request("bad"));
        }
        assert_eq!(waited, [0, 5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
        // After a success, and without a reconcile, an event is answered at once.
        assert_eq!(queue.next().await, request("bad"));
        queue.add(request("bad"));
        queue.forget(&request("bad"));
        queue.done(&request("bad"));
        assert_eq!(queue.len(), 1);
    }
}
