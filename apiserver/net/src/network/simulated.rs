//! A network inside this process, without sockets; each run has the same order of events.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;

use super::{Dial, Listener, Network};
use crate::limits::CONNECTIONS_QUEUED;
use crate::stream::BoxStream;

/// Buffer size in bytes for each direction of a connection.
const BUFFER: usize = 64 * 1024;
/// The first port that is assigned to a listener on port 0.
const FIRST_PORT: u16 = 20_000;

type Ports = Arc<Mutex<BTreeMap<u16, mpsc::Sender<DuplexStream>>>>;

/// The ports of one machine; every host name resolves to it.
#[derive(Clone, Default)]
pub struct SimulatedNetwork {
    ports: Ports,
}

impl SimulatedNetwork {
    /// Creates a network without listeners.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Dial for SimulatedNetwork {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxStream>> {
        let refused = move || {
            io::Error::new(io::ErrorKind::ConnectionRefused, format!("{host}:{port}: connection refused"))
        };
        let listener = self.ports.lock().get(&port).cloned();
        async move {
            let (ours, theirs) = tokio::io::duplex(BUFFER);
            listener.ok_or_else(refused)?.try_send(theirs).map_err(|_| refused())?;
            Ok(Box::new(ours) as BoxStream)
        }
        .boxed()
    }
}

impl Network for SimulatedNetwork {
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        let result = self.bind(host, port);
        async move { result.map(|listener| Box::new(listener) as Box<dyn Listener>) }.boxed()
    }
}

impl SimulatedNetwork {
    fn bind(&self, host: &str, port: u16) -> io::Result<SimulatedListener> {
        let mut ports = self.ports.lock();
        let in_use =
            || io::Error::new(io::ErrorKind::AddrInUse, format!("{host}:{port}: address already in use"));
        let port = match port {
            0 => (FIRST_PORT..u16::MAX).find(|port| !ports.contains_key(port)).ok_or_else(in_use)?,
            port if ports.contains_key(&port) => return Err(in_use()),
            port => port,
        };
        let (sender, receiver) = mpsc::channel(CONNECTIONS_QUEUED);
        ports.insert(port, sender);
        Ok(SimulatedListener { receiver, port, ports: self.ports.clone() })
    }
}

struct SimulatedListener {
    receiver: mpsc::Receiver<DuplexStream>,
    port: u16,
    ports: Ports,
}

impl Listener for SimulatedListener {
    fn accept(&mut self) -> BoxFuture<'_, io::Result<(BoxStream, String)>> {
        async move {
            // The network holds the sender as long as this listener lives.
            let stream = self.receiver.recv().await.ok_or(io::ErrorKind::NotConnected)?;
            Ok((Box::new(stream) as BoxStream, "simulated".to_owned()))
        }
        .boxed()
    }

    fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for SimulatedListener {
    fn drop(&mut self) {
        self.ports.lock().remove(&self.port);
    }
}
