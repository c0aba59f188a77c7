//! Networks: the one of this machine, and those that are simulated in this process. HTTP, TLS and port-forwards work unchanged
//! over any of them.

mod real;
mod simulated;

use std::io;

use futures::future::BoxFuture;

pub use real::RealNetwork;
pub use simulated::SimulatedNetwork;

use crate::stream::BoxStream;

/// Opens connections to other machines, real or simulated. Tests and Pods have networks of their own.
pub trait Dial: Send + Sync + 'static {
    /// Opens a connection to `host`, a name or an address, at `port`.
    ///
    /// # Errors
    /// The errors of TCP: refused, timed out; [`io::ErrorKind::NotFound`] for an unknown host.
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxStream>>;
}

/// Opens and accepts connections.
pub trait Network: Dial {
    /// Listens for connections; port 0 selects a free port.
    ///
    /// # Errors
    /// The errors of TCP: address in use, not permitted.
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Listener>>>;
}

/// Accepts connections; dropping it closes the port.
pub trait Listener: Send {
    /// Waits for the next connection; returns it and the peer's address.
    ///
    /// # Errors
    /// The errors of TCP. The listener stays usable.
    fn accept(&mut self) -> BoxFuture<'_, io::Result<(BoxStream, String)>>;

    /// Returns the port that the listener is bound to.
    fn port(&self) -> u16;
}
