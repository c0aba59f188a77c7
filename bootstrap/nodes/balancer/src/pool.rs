//! The servers of a balancer: what is known of each, and a connection to one of them.

use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use system_containers::balancer::{Configuration, Health, ServerStatus, Status};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::check::{Checks, Outcome};
use crate::choice::{Candidate, order};
use crate::console::say;
use crate::limits;

/// All servers.
pub(crate) struct Pool {
    state: Mutex<State>,
    checks: Checks,
    /// Told when a server can be reached that could not be, and when there are other servers.
    changed: Notify,
    /// The number of connections that have been distributed.
    turn: AtomicUsize,
    /// The connections that are there or look for a server.
    connections: Arc<AtomicUsize>,
    most: usize,
}

struct State {
    configuration: Configuration,
    error: Option<String>,
    /// In the order of the configuration.
    members: Vec<Member>,
}

/// A server of the configuration. Its checks end with this.
struct Member {
    backend: Arc<Backend>,
    drain: bool,
    _checks: AbortOnDropHandle<()>,
}

/// A server, as long as it is in the configuration or has connections.
pub(crate) struct Backend {
    name: String,
    address: SocketAddrV4,
    known: Mutex<Known>,
    connections: Arc<AtomicUsize>,
}

struct Known {
    health: Health,
    /// Whether it has accepted the last connection.
    is_reached: bool,
    /// The number of checks without an answer in a row, and of those that were refused.
    silent: u32,
    forbidden: u32,
}

/// One more connection, until this is dropped.
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pool {
    pub(crate) fn new(configuration: Configuration, checks: Checks, most: usize) -> Arc<Self> {
        let empty = Configuration { port: configuration.port, servers: Vec::new() };
        let pool = Arc::new(Self {
            state: Mutex::new(State { configuration: empty, error: None, members: Vec::new() }),
            checks,
            changed: Notify::new(),
            turn: AtomicUsize::new(0),
            connections: Arc::default(),
            most,
        });
        pool.configure(configuration);
        pool
    }

    /// Uses another configuration. What is known of a server that stays is kept.
    pub(crate) fn configure(self: &Arc<Self>, configuration: Configuration) {
        let mut state = self.state.lock();
        let mut before = std::mem::take(&mut state.members);
        for server in &configuration.servers {
            let address = SocketAddrV4::new(server.address, server.port);
            let is_same =
                |member: &Member| member.backend.name == server.name && member.backend.address == address;
            let member = match before.iter().position(is_same) {
                Some(index) => Member { drain: server.drain, ..before.swap_remove(index) },
                None => {
                    let backend = Arc::new(Backend::new(&server.name, address));
                    let checks = tokio::spawn(watch(self.clone(), backend.clone()));
                    Member { backend, drain: server.drain, _checks: AbortOnDropHandle::new(checks) }
                }
            };
            state.members.push(member);
        }
        state.configuration = configuration;
        state.error = None;
        drop(state);
        self.changed.notify_waiters();
    }

    /// Notes why the newest configuration is not used.
    pub(crate) fn refuse(&self, error: String) {
        self.state.lock().error = Some(error);
    }

    pub(crate) fn status(&self) -> Status {
        let state = self.state.lock();
        let server = |member: &Member| ServerStatus {
            name: member.backend.name.clone(),
            health: member.backend.known.lock().health.clone(),
            connections: member.backend.connections.load(Ordering::Relaxed),
        };
        Status {
            configuration: state.configuration.clone(),
            error: state.error.clone(),
            connections: self.connections.load(Ordering::Relaxed),
            most_connections: self.most,
            servers: state.members.iter().map(server).collect(),
        }
    }

    /// Counts a connection of a client.
    pub(crate) fn count(&self) -> Counted {
        Counted::new(&self.connections)
    }

    /// Returns the servers in the order in which they are tried.
    fn order(&self) -> Vec<Arc<Backend>> {
        let state = self.state.lock();
        let candidate = |member: &Member| Candidate {
            health: member.backend.known.lock().health.clone(),
            drain: member.drain,
            connections: member.backend.connections.load(Ordering::Relaxed),
        };
        let candidates: Vec<_> = state.members.iter().map(candidate).collect();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        order(&candidates, turn).into_iter().map(|index| state.members[index].backend.clone()).collect()
    }

    /// Connects to a server. Where none takes the connection, it waits until one can be reached; `None` after [`limits::HOLD`].
    pub(crate) async fn connect(&self) -> Option<(TcpStream, Counted)> {
        let found = async {
            loop {
                // What changes from here on is not missed.
                let mut changed = std::pin::pin!(self.changed.notified());
                changed.as_mut().enable();
                for backend in self.order() {
                    let counted = Counted::new(&backend.connections);
                    let connected = timeout(limits::CONNECT, TcpStream::connect(backend.address)).await;
                    let why = match connected {
                        Ok(Ok(stream)) => return (stream, counted),
                        Ok(Err(error)) => error.to_string(),
                        Err(_) => format!("no connection within {} s", limits::CONNECT.as_secs()),
                    };
                    backend.learn(Outcome::Unreachable(why));
                }
                changed.await;
            }
        };
        timeout(limits::HOLD, found).await.ok()
    }
}

impl Backend {
    fn new(name: &str, address: SocketAddrV4) -> Self {
        let known = Mutex::new(Known { health: Health::Unknown, is_reached: false, silent: 0, forbidden: 0 });
        Self { name: name.to_owned(), address, known, connections: Arc::default() }
    }

    /// Notes what a check or a connection has shown. Returns whether a connection may succeed now that could not before.
    fn learn(&self, outcome: Outcome) -> bool {
        let mut known = self.known.lock();
        let (was_reached, before) = (known.is_reached, known.health.clone());
        known.is_reached = !matches!(outcome, Outcome::Unreachable(_));
        known.silent = if matches!(outcome, Outcome::Silent(_)) { known.silent + 1 } else { 0 };
        known.forbidden = if matches!(outcome, Outcome::Forbidden(_)) { known.forbidden + 1 } else { 0 };
        match outcome {
            Outcome::Ready => known.health = Health::Healthy,
            Outcome::Silent(_) if known.silent < limits::SILENT_CHECKS => {}
            Outcome::Forbidden(_) if before == Health::Healthy => {}
            Outcome::Forbidden(_) if known.forbidden >= limits::FORBIDDEN_CHECKS => {
                known.health = Health::Healthy;
            }
            Outcome::Forbidden(why)
            | Outcome::Silent(why)
            | Outcome::NotReady(why)
            | Outcome::Unreachable(why) => {
                known.health = Health::Unhealthy(why);
            }
        }
        let (name, address) = (&self.name, self.address);
        match (&before, &known.health) {
            (Health::Healthy, Health::Healthy) => {}
            (_, Health::Healthy) => say(&format!("server {name} ({address}) is ready")),
            (before, Health::Unhealthy(why)) if before != &known.health => {
                say(&format!("server {name} ({address}) is not ready: {why}"));
            }
            _ => {}
        }
        known.is_reached && !was_reached || before != Health::Healthy && known.health == Health::Healthy
    }
}

/// Checks a server again and again.
async fn watch(pool: Arc<Pool>, backend: Arc<Backend>) {
    loop {
        let outcome = pool.checks.ask(backend.address).await;
        if backend.learn(outcome) {
            pool.changed.notify_waiters();
        }
        let is_reached = backend.known.lock().is_reached;
        tokio::time::sleep(if is_reached { limits::CHECK_AGAIN } else { limits::CHECK_SOON }).await;
    }
}
