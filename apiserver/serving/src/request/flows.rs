//! Limits requests in flight and queues the rest fairly. A flow is the requests of one user.
//!
//! Invariant: no flow holds more than half of the seats that the other flows leave, and free seats go to the
//! waiting flows in turn. A client that sends without pause therefore only delays itself. Masters
//! (`system:masters`) have seats of their own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use machinery::status::Status;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::oneshot;

use crate::limits::{FLOW_WAITING, WAITING};

/// The seats for the requests of one server.
pub(crate) struct Flows(Mutex<State>);

struct State {
    seats: usize,
    /// Maximum number of seats of one flow.
    flow_seats: usize,
    running: usize,
    flows: BTreeMap<Arc<str>, Flow>,
    /// The flows with waiting requests, the next one first.
    turns: VecDeque<Arc<str>>,
}

#[derive(Default)]
struct Flow {
    running: usize,
    waiting: VecDeque<oneshot::Sender<Seat>>,
}

/// The right to be served; dropping it frees the seat.
pub(crate) struct Seat {
    flows: Arc<Flows>,
    flow: Arc<str>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let next = self.flows.0.lock().leave(&self.flow);
        if let Some((waiting, flow)) = next {
            // If the waiting request was given up, the seat is dropped here and passed on again.
            drop(waiting.send(Seat { flows: self.flows.clone(), flow }));
        }
    }
}

impl Flows {
    /// Creates `seats` seats, of which one flow may hold `flow_seats`.
    pub(crate) fn new(seats: usize, flow_seats: usize) -> Arc<Self> {
        let (flows, turns) = (BTreeMap::new(), VecDeque::new());
        Arc::new(Self(Mutex::new(State { seats, flow_seats, running: 0, flows, turns })))
    }

    /// Returns a seat if one is free, without waiting.
    pub(crate) fn try_enter(self: &Arc<Self>, user: &str) -> Option<Seat> {
        let mut state = self.0.lock();
        let flow: Arc<str> = user.into();
        state.may_run(&flow).then(|| {
            state.run(&flow);
            Seat { flows: self.clone(), flow }
        })
    }

    /// Waits for a seat.
    ///
    /// # Errors
    /// The name of the limit that was reached: too many requests of the flow are waiting, or this one waited
    /// too long.
    pub(crate) async fn enter(self: &Arc<Self>, user: &str) -> Result<Seat, &'static str> {
        let turn = {
            let mut state = self.0.lock();
            let flow = state.flows.get_key_value(user).map_or_else(|| user.into(), |(flow, _)| flow.clone());
            if state.may_run(&flow) {
                state.run(&flow);
                return Ok(Seat { flows: self.clone(), flow });
            }
            state.wait(&flow).ok_or("flow_waiting")?
        };
        tokio::time::timeout(WAITING, turn).await.ok().and_then(Result::ok).ok_or("waiting")
    }
}

/// Returns the 429 status for a client that sends more requests than can be served.
pub(crate) fn too_many() -> Status {
    let message = "too many requests of this user are waiting, please try again later";
    let mut status = Status::new(429, "TooManyRequests", message);
    status.details = Some(json!({"retryAfterSeconds": 1}));
    status
}

impl State {
    fn may_run(&self, flow: &str) -> bool {
        let own = self.flows.get(flow).map_or(0, |flow| flow.running);
        // One flow gets half of what the others leave, so a few flows cannot take all seats.
        let left = self.seats + own - self.running;
        self.running < self.seats && own < self.flow_seats.min(left / 2).max(1)
    }

    fn run(&mut self, flow: &Arc<str>) {
        self.running += 1;
        self.flows.entry(flow.clone()).or_default().running += 1;
    }

    /// Queues a request; `None` if the queue is full.
    fn wait(&mut self, name: &Arc<str>) -> Option<oneshot::Receiver<Seat>> {
        let flow = self.flows.entry(name.clone()).or_default();
        if flow.waiting.len() >= FLOW_WAITING {
            flow.waiting.retain(|waiting| !waiting.is_closed());
        }
        if flow.waiting.len() >= FLOW_WAITING {
            return None;
        }
        if flow.waiting.is_empty() {
            self.turns.push_back(name.clone());
        }
        let (sender, receiver) = oneshot::channel();
        flow.waiting.push_back(sender);
        Some(receiver)
    }

    /// Frees a seat and returns the waiting request that gets it.
    fn leave(&mut self, name: &Arc<str>) -> Option<(oneshot::Sender<Seat>, Arc<str>)> {
        self.running -= 1;
        if let Some(flow) = self.flows.get_mut(name) {
            flow.running -= 1;
        }
        self.forget_idle(name);
        for _ in 0..self.turns.len() {
            let next = self.turns.pop_front()?;
            let waiting = if self.may_run(&next) { self.first(&next) } else { None };
            if self.flows.get(&next).is_some_and(|flow| !flow.waiting.is_empty()) {
                self.turns.push_back(next.clone());
            }
            if let Some(waiting) = waiting {
                self.run(&next);
                return Some((waiting, next));
            }
            self.forget_idle(&next);
        }
        None
    }

    fn forget_idle(&mut self, name: &Arc<str>) {
        if self.flows.get(name).is_some_and(|flow| flow.running == 0 && flow.waiting.is_empty()) {
            self.flows.remove(name);
        }
    }

    /// Returns the first request of the flow's queue that still waits.
    fn first(&mut self, name: &Arc<str>) -> Option<oneshot::Sender<Seat>> {
        let flow = self.flows.get_mut(name)?;
        std::iter::from_fn(|| flow.waiting.pop_front()).find(|waiting| !waiting.is_closed())
    }
}
