//! The work queue of a controller: it holds each object at most once, runs one reconcile per object at a
//! time, and adds delays and back-off.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Request;

/// Delay after the first error; it doubles with each further error.
const BACK_OFF_BASE: Duration = Duration::from_millis(5);
/// The longest delay between two attempts.
const BACK_OFF_MAX: Duration = Duration::from_secs(120);

/// A queue of [`Request`]s.
///
/// Invariant: a request that is added while its object is being reconciled is processed again afterwards,
/// never at the same time.
pub struct Queue {
    clock: Clock,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Request>,
    queued: BTreeSet<Request>,
    working: BTreeSet<Request>,
    again: BTreeSet<Request>,
    delayed: BTreeMap<(Instant, u64), Request>,
    due: BTreeMap<Request, (Instant, u64)>,
    sequence: u64,
    failures: BTreeMap<Request, u32>,
}

impl State {
    fn add(&mut self, request: Request) -> bool {
        if self.working.contains(&request) {
            self.again.insert(request);
            return false;
        }
        if !self.queued.insert(request.clone()) {
            return false;
        }
        self.ready.push_back(request);
        true
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

    fn release_due(&mut self, now: Instant) {
        while let Some((key, _)) = self.delayed.first_key_value() {
            if key.0 > now {
                break;
            }
            if let Some((_, request)) = self.delayed.pop_first() {
                self.due.remove(&request);
                self.add(request);
            }
        }
    }

    /// Takes the next ready request. Its delayed request is dropped, because the reconcile decides again when
    /// to run next.
    fn pop(&mut self) -> Option<Request> {
        let request = self.ready.pop_front()?;
        self.queued.remove(&request);
        if let Some(key) = self.due.remove(&request) {
            self.delayed.remove(&key);
        }
        self.working.insert(request.clone());
        Some(request)
    }
}

impl Queue {
    /// Creates an empty queue that measures delays with `clock`.
    pub fn new(clock: Clock) -> Self {
        Self { clock, state: Mutex::default(), changed: Notify::new() }
    }

    /// Requests a reconcile now.
    pub fn add(&self, request: Request) {
        if self.state.lock().add(request) {
            self.changed.notify_one();
        }
    }

    /// Requests a reconcile after `delay`, unless an earlier one is scheduled.
    pub fn add_after(&self, request: Request, delay: Duration) {
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
        let delay = BACK_OFF_BASE.saturating_mul(1 << (failures - 1).min(20)).min(BACK_OFF_MAX);
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
                let mut state = self.state.lock();
                state.release_due(self.clock.monotonic());
                if let Some(request) = state.pop() {
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
        let mut state = self.state.lock();
        state.working.remove(request);
        if state.again.remove(request) && state.add(request.clone()) {
            drop(state);
            self.changed.notify_one();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &str) -> Request {
        Request::new("default", name)
    }

    #[tokio::test(start_paused = true)]
    async fn each_object_once_and_never_twice_at_a_time() {
        let queue = Queue::new(Clock::system());
        queue.add(request("a"));
        queue.add(request("a"));
        queue.add(request("b"));
        assert_eq!(queue.next().await, request("a"));
        queue.add(request("a"));
        assert_eq!(queue.next().await, request("b"));
        assert!(queue.is_empty(), "a is worked on and must wait");
        queue.done(&request("a"));
        assert_eq!(queue.next().await, request("a"));
    }

    #[tokio::test(start_paused = true)]
    async fn delays_and_back_off() {
        let clock = Clock::system();
        let start = clock.monotonic();
        let queue = Queue::new(clock.clone());
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
}
