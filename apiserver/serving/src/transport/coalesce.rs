//! Combines the writes of a connection into few system calls.
//!
//! hyper flushes after each frame, and an object with 200 watchers causes 200 frames. Writes are therefore
//! gathered while the connection's task runs, and sent when the task becomes idle. In addition, a
//! connection's task that is woken first yields to the other ready tasks, so that their frames are included.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// Once more than this is gathered, it is sent while the connection continues to write.
pub const GATHERED_BYTES: usize = 64 * 1024;
/// A connection that has sent more than this lets other tasks run before it goes on. To encrypt it takes a tenth of a millisecond.
pub const TURN_BYTES: usize = 256 * 1024;
/// An idle connection keeps a buffer of at most this size.
const KEPT_BYTES: usize = 4 * 1024;

struct State<S> {
    stream: S,
    clock: Clock,
    /// Number of bytes that the stream has accepted.
    sent: u64,
    /// Number of bytes that were sent since the connection's task has its turn.
    turn: usize,
    /// Since when the stream accepts no bytes although some are waiting.
    unsent: Option<Instant>,
    written: BytesMut,
    /// The error with which sending ended; the next write reports it.
    failed: Option<io::ErrorKind>,
    /// Whether flushes are delayed until [`Coalesced`] sends.
    gathering: bool,
}

impl<S: AsyncWrite + Unpin> State<S> {
    fn send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.written.is_empty() {
            if self.gathering && self.turn >= TURN_BYTES {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let Poll::Ready(sent) = Pin::new(&mut self.stream).poll_write(context, &self.written) else {
                let clock = &self.clock;
                self.unsent.get_or_insert_with(|| clock.monotonic());
                return Poll::Pending;
            };
            let sent = sent?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written.advance(sent);
            self.sent += sent as u64;
            self.turn += sent;
            self.unsent = None;
        }
        if self.written.capacity() > KEPT_BYTES {
            self.written = BytesMut::new();
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }
}

/// A stream whose writes are gathered while a [`Coalesced`] future drives it.
pub struct Coalescer<S>(Arc<Mutex<State<S>>>);

impl<S> Coalescer<S> {
    /// Wraps `stream`. Before [`Coalesced::new`], flushing sends at once.
    pub fn new(stream: S, clock: Clock) -> Self {
        Self(Arc::new(Mutex::new(State {
            stream,
            clock,
            sent: 0,
            turn: 0,
            unsent: None,
            written: BytesMut::new(),
            failed: None,
            gathering: false,
        })))
    }

    /// Returns the number of bytes that the stream has accepted.
    pub fn sent(&self) -> u64 {
        self.0.lock().sent
    }

    /// Returns since when the stream accepts no bytes although some are waiting.
    pub fn unsent(&self) -> Option<Instant> {
        self.0.lock().unsent
    }

    /// Returns another handle on the same stream.
    pub fn handle(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Coalescer<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.lock().stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Coalescer<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock();
        if let Some(failed) = state.failed {
            return Poll::Ready(Err(failed.into()));
        }
        if state.written.len() >= GATHERED_BYTES {
            ready!(state.send(context))?;
        }
        for piece in pieces {
            state.written.extend_from_slice(piece);
        }
        Poll::Ready(Ok(pieces.iter().map(|piece| piece.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        if state.gathering { Poll::Ready(Ok(())) } else { state.send(context) }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        ready!(state.send(context))?;
        Pin::new(&mut state.stream).poll_shutdown(context)
    }
}

/// Drives a connection over a [`Coalescer`].
pub struct Coalesced<S, F> {
    stream: Coalescer<S>,
    connection: Pin<Box<F>>,
    /// Whether the other tasks had their turn since this one was woken.
    waited: bool,
}

impl<S, F> Coalesced<S, F> {
    /// Gathers the writes of `connection`, which owns another handle of `stream`.
    pub fn new(stream: Coalescer<S>, connection: F) -> Self {
        stream.0.lock().gathering = true;
        Self { stream, connection: Box::pin(connection), waited: false }
    }

    /// Returns the driven connection.
    pub fn connection(&mut self) -> Pin<&mut F> {
        self.connection.as_mut()
    }
}

impl<S: AsyncWrite + Unpin, F: Future> Future for Coalesced<S, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.waited = !self.waited;
        if self.waited {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.stream.0.lock().turn = 0;
        let polled = self.connection.as_mut().poll(context);
        let mut state = self.stream.0.lock();
        // After an upgrade, the new owner of the stream flushes by itself.
        state.gathering = polled.is_pending();
        // If the stream does not accept everything now, it wakes this task later.
        if let Poll::Ready(Err(error)) = state.send(context) {
            state.failed = Some(error.kind());
        }
        polled
    }
}

impl<S, F> Drop for Coalesced<S, F> {
    fn drop(&mut self) {
        self.stream.0.lock().gathering = false;
    }
}
