//! A connection that is closed when the peer accepts no data for a while: a slow reader would keep a connection slot and an open file.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use metrics::Limits;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// What a peer must do within a time.
#[derive(Debug, Clone, Copy)]
pub enum Patience {
    /// Accept some of the bytes that wait. It may take any time for all of them, which is right for large files.
    Some(Duration),
    /// Accept all bytes that are written before a flush.
    All(Duration),
}

/// Writes fail with [`io::ErrorKind::TimedOut`] if the peer does not accept data in time. Reads have no timeout.
pub struct Impatient<S> {
    inner: S,
    patience: Patience,
    /// The deadline of what waits.
    end: Option<Pin<Box<Sleep>>>,
    limits: Limits,
    limit: &'static str,
    is_counted: bool,
}

impl<S> Impatient<S> {
    /// Wraps `inner`. A connection that reaches the end of `patience` is counted as `limit` in `limits`.
    pub fn new(inner: S, patience: Patience, limits: Limits, limit: &'static str) -> Self {
        Self { inner, patience, end: None, limits, limit, is_counted: false }
    }

    /// Limits the time of `poll`. `is_all` says whether nothing waits any more if it is ready.
    fn waits<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: Poll<io::Result<T>>,
        is_all: bool,
    ) -> Poll<io::Result<T>> {
        let (is_enough, patience) = match self.patience {
            Patience::Some(patience) => (true, patience),
            Patience::All(patience) => (is_all, patience),
        };
        if poll.is_ready() {
            if is_enough {
                self.end = None;
            }
            return poll;
        }
        let end = self.end.get_or_insert_with(|| Box::pin(sleep(patience)));
        let is_over = end.as_mut().poll(context).is_ready();
        // Polls after the timeout fail, too, and are not counted again.
        if is_over && !std::mem::replace(&mut self.is_counted, true) {
            self.limits.reached(self.limit);
        }
        if is_over { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { Poll::Pending }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.waits(context, poll, false)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.waits(context, poll, false)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.inner).poll_flush(context);
        self.waits(context, poll, true)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.inner).poll_shutdown(context);
        self.waits(context, poll, true)
    }
}
