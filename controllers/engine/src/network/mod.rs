//! Connections to other machines: TCP, or simulated in this process. HTTP, TLS and port-forwards work
//! unchanged over either.

mod bounded;
mod client;
mod real;
mod simulated;

use std::io;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use bounded::Answers;
pub use client::WorkloadClients;
pub use real::RealNetwork;
pub use simulated::SimulatedNetwork;

/// A bidirectional byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for T {}

/// A boxed [`Stream`] of any type.
pub type BoxStream = Box<dyn Stream>;

/// Opens and accepts connections.
pub trait Network: Send + Sync + 'static {
    /// Opens a connection.
    ///
    /// # Errors
    /// The errors of TCP: refused, timed out, no such host.
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxStream>>;

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
