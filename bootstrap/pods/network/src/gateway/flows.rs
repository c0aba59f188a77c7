//! The TCP connections of a Pod through its gateway, as a table. Pure: it knows neither sockets nor time.
//!
//! The Pod's own kernel completes each connection: the gateway gives its packets the address of a listener in the same namespace, and a
//! number, as a port, by which it knows the connection again. So TCP itself is left to the kernel on both sides.

use std::collections::HashMap;
use std::net::SocketAddr;

/// The number of a connection, used as its port between the gateway and the listener.
pub type Number = u16;

/// What became of a connection. `U` is the connection to the destination, and `T` a time.
#[derive(Debug)]
pub(crate) enum State<U, T> {
    /// The destination is being called. The packet that began the connection waits for it.
    Calling(Vec<u8>),
    /// The destination has answered, and the Pod completes its side.
    Offered(U, T),
    /// Both sides are connected.
    Open,
    /// Both sides have ended. Their last packets may still be on their way.
    Ended(T),
}

/// A connection.
#[derive(Debug)]
pub struct Flow<U, T> {
    /// The Pod's side.
    pub(crate) client: SocketAddr,
    /// The destination.
    pub(crate) server: SocketAddr,
    pub(crate) state: State<U, T>,
}

/// All connections.
#[derive(Debug)]
pub struct Flows<U, T> {
    numbers: HashMap<(SocketAddr, SocketAddr), Number>,
    flows: HashMap<Number, Flow<U, T>>,
    last: Number,
    limit: usize,
}

impl<U, T: Copy + PartialOrd> Flows<U, T> {
    /// Returns no connections, which never become more than `limit`.
    pub fn new(limit: usize) -> Self {
        Self { numbers: HashMap::new(), flows: HashMap::new(), last: 0, limit }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Returns the number of the connection between these two.
    pub fn number(&self, client: SocketAddr, server: SocketAddr) -> Option<Number> {
        self.numbers.get(&(client, server)).copied()
    }

    /// Returns a connection.
    pub fn get(&self, number: Number) -> Option<&Flow<U, T>> {
        self.flows.get(&number)
    }

    /// Adds a connection; `None` if there are too many. One that has ended makes room.
    pub fn add(&mut self, client: SocketAddr, server: SocketAddr, syn: Vec<u8>) -> Option<Number> {
        if self.flows.len() >= self.limit {
            let ended = self.flows.iter().filter_map(|(number, flow)| match flow.state {
                State::Ended(since) => Some((*number, since)),
                _ => None,
            });
            let oldest = ended.reduce(|one, other| if other.1 < one.1 { other } else { one })?;
            self.remove(oldest.0);
        }
        let all = (self.last..Number::MAX).chain(0..self.last).map(|before| before + 1);
        let number = all.into_iter().find(|number| !self.flows.contains_key(number))?;
        self.last = number;
        self.numbers.insert((client, server), number);
        self.flows.insert(number, Flow { client, server, state: State::Calling(syn) });
        Some(number)
    }

    /// Forgets a connection, and returns it.
    pub fn remove(&mut self, number: Number) -> Option<Flow<U, T>> {
        let flow = self.flows.remove(&number)?;
        self.numbers.remove(&(flow.client, flow.server));
        Some(flow)
    }

    /// Offers the connection to the destination to the Pod, and returns the packet that began it. `None` if nobody waits for it.
    pub fn offer(&mut self, number: Number, upstream: U, now: T) -> Option<Vec<u8>> {
        let flow = self.flows.get_mut(&number)?;
        match std::mem::replace(&mut flow.state, State::Offered(upstream, now)) {
            State::Calling(syn) => Some(syn),
            other => {
                flow.state = other;
                None
            }
        }
    }

    /// Takes the connection to the destination, which the Pod has accepted.
    pub fn accept(&mut self, number: Number) -> Option<U> {
        let flow = self.flows.get_mut(&number)?;
        match std::mem::replace(&mut flow.state, State::Open) {
            State::Offered(upstream, _) => Some(upstream),
            other => {
                flow.state = other;
                None
            }
        }
    }

    /// Records that a connection has ended.
    pub fn end(&mut self, number: Number, now: T) {
        if let Some(flow) = self.flows.get_mut(&number) {
            flow.state = State::Ended(now);
        }
    }

    /// Forgets the connections that were offered, or have ended, before these times.
    pub fn forget(&mut self, offered_before: T, ended_before: T) {
        let is_over = |flow: &Flow<U, T>| match &flow.state {
            State::Offered(_, since) => *since < offered_before,
            State::Ended(since) => *since < ended_before,
            State::Calling(_) | State::Open => false,
        };
        let over: Vec<Number> =
            self.flows.iter().filter(|(_, flow)| is_over(flow)).map(|(number, _)| *number).collect();
        for number in over {
            self.remove(number);
        }
    }
}
