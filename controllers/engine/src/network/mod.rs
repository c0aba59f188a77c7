//! The door to other machines: real, or simulated in this process. HTTP, TLS and port-forwards run unchanged over either.

mod client;
mod real;
mod simulated;

use std::io;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

pub use client::workload_client;
pub use real::RealNetwork;
pub use simulated::SimulatedNetwork;

/// A connection.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for T {}

/// A connection of any kind.
pub type BoxStream = Box<dyn Stream>;

/// Where connections come from and go to.
pub trait Network: Send + Sync + 'static {
    /// Opens a connection.
    ///
    /// # Errors
    /// As for TCP: refused, timed out, no such host.
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxStream>>;

    /// Accepts connections; port 0 takes any free one.
    ///
    /// # Errors
    /// As for TCP: in use, not permitted.
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Listener>>>;
}

/// Accepts connections; dropping it closes the port.
pub trait Listener: Send {
    /// The next connection, and who opened it.
    ///
    /// # Errors
    /// As for TCP. The listener can still be used.
    fn accept(&mut self) -> BoxFuture<'_, io::Result<(BoxStream, String)>>;

    /// The port it listens on.
    fn port(&self) -> u16;
}
