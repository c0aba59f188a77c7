//! Requests in flight: how many there may be, and whose turn it is. A flow is what one user sends.
//!
//! Invariant: no flow holds more than half of what the others leave, and a free seat goes to the flows that wait in turn. So a client that
//! sends without end waits for itself, and everyone else is answered. Masters have seats of their own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use machinery::status::Status;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::oneshot;

use crate::limits::{FLOW_WAITING, WAITING};

/// The seats of one server.
pub(crate) struct Flows(Mutex<State>);

struct State {
    seats: usize,
    /// … of one flow.
    flow_seats: usize,
    running: usize,
    flows: BTreeMap<Arc<str>, Flow>,
    /// The flows with a queue; the one whose turn is next stands first.
    turns: VecDeque<Arc<str>>,
}

#[derive(Default)]
struct Flow {
    running: usize,
    waiting: VecDeque<oneshot::Sender<Seat>>,
}

/// The right to be answered, until it is dropped.
pub(crate) struct Seat {
    flows: Arc<Flows>,
    flow: Arc<str>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let next = self.flows.0.lock().leave(&self.flow);
        if let Some((waiting, flow)) = next {
            // Who has stopped waiting since gives the seat back, which drops it and comes here again.
            drop(waiting.send(Seat { flows: self.flows.clone(), flow }));
        }
    }
}

impl Flows {
    /// So many seats, of which one flow may hold so many.
    pub(crate) fn new(seats: usize, flow_seats: usize) -> Arc<Self> {
        let (flows, turns) = (BTreeMap::new(), VecDeque::new());
        Arc::new(Self(Mutex::new(State { seats, flow_seats, running: 0, flows, turns })))
    }

    /// A seat, if one is free.
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
    /// The limit that was reached: too many of the flow wait already, or this one has waited too long.
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

/// What a client gets that sends more than is answered.
pub(crate) fn too_many() -> Status {
    let message = "too many requests of this user are waiting, please try again later";
    let mut status = Status::new(429, "TooManyRequests", message);
    status.details = Some(json!({"retryAfterSeconds": 1}));
    status
}

impl State {
    fn may_run(&self, flow: &str) -> bool {
        let own = self.flows.get(flow).map_or(0, |flow| flow.running);
        // Of what the others leave, one flow gets half: a few of them cannot take all seats.
        let left = self.seats + own - self.running;
        self.running < self.seats && own < self.flow_seats.min(left / 2).max(1)
    }

    fn run(&mut self, flow: &Arc<str>) {
        self.running += 1;
        self.flows.entry(flow.clone()).or_default().running += 1;
    }

    /// Queues one more; `None` when the queue is full.
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

    /// Gives a seat back; answers who gets it.
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

    /// The first of the flow's queue that still waits.
    fn first(&mut self, name: &Arc<str>) -> Option<oneshot::Sender<Seat>> {
        let flow = self.flows.get_mut(name)?;
        std::iter::from_fn(|| flow.waiting.pop_front()).find(|waiting| !waiting.is_closed())
    }
}
