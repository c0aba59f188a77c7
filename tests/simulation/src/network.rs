//! The network to the workload clusters, whose API servers can be out of reach.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use net::{BoxStream, Dial, Listener, Network, SimulatedNetwork};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A network like [`SimulatedNetwork`] in which ports can be cut off: their connections break, and new ones are refused.
#[derive(Clone, Default)]
pub struct Cables {
    network: SimulatedNetwork,
    ports: Arc<Mutex<BTreeMap<u16, Port>>>,
}

#[derive(Default)]
struct Port {
    is_cut: bool,
    /// Breaks the open connections.
    cut: CancellationToken,
}

impl Cables {
    /// Breaks all connections to this port, and refuses new ones.
    pub fn cut(&self, port: u16) {
        let mut ports = self.ports.lock();
        let entry = ports.entry(port).or_default();
        entry.is_cut = true;
        std::mem::take(&mut entry.cut).cancel();
    }

    /// Lets connections to this port pass again.
    pub fn mend(&self, port: u16) {
        self.ports.lock().entry(port).or_default().is_cut = false;
    }
}

impl Dial for Cables {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxStream>> {
        let cut = {
            let mut ports = self.ports.lock();
            let entry = ports.entry(port).or_default();
            (!entry.is_cut).then(|| entry.cut.clone())
        };
        async move {
            let Some(cut) = cut else { return Err(io::ErrorKind::ConnectionRefused.into()) };
            let stream = self.network.dial(host, port).await?;
            Ok(Box::new(Cable { stream, cut: Box::pin(cut.cancelled_owned()) }) as BoxStream)
        }
        .boxed()
    }
}

impl Network for Cables {
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        self.network.listen(host, port)
    }
}

/// A connection that breaks when its port is cut off.
struct Cable {
    stream: BoxStream,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Cable {
    /// Fails if the connection is broken. Otherwise, the task is woken when it breaks.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.cut.as_mut().poll_unpin(context) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionReset.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Cable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Cable {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
