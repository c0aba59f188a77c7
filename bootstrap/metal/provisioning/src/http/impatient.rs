//! A connection that is closed when the peer accepts no data for a while: a slow reader would keep a connection slot and an open file.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use metrics::Limits;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Writes fail with [`io::ErrorKind::TimedOut`] if the peer accepted nothing for the given time. Reads have no timeout.
pub struct Impatient<S> {
    inner: S,
    patience: Duration,
    /// The deadline of a pending write.
    end: Option<Pin<Box<Sleep>>>,
    limits: Limits,
    limit: &'static str,
    is_counted: bool,
}

impl<S> Impatient<S> {
    /// Wraps `inner`; `patience` is the timeout of a pending write. A connection that reaches it is counted as `limit` in `limits`.
    pub fn new(inner: S, patience: Duration, limits: Limits, limit: &'static str) -> Self {
        Self { inner, patience, end: None, limits, limit, is_counted: false }
    }

    fn waits<T>(&mut self, context: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.end = None;
            return poll;
        }
        let patience = self.patience;
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
        self.waits(context, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.waits(context, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.inner).poll_flush(context);
        self.waits(context, poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.inner).poll_shutdown(context);
        self.waits(context, poll)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_cut_off_and_who_is_slow_is_not() {
        let (own, mut other) = tokio::io::duplex(16);
        let metrics = metrics::Metrics::default();
        let mut own = Impatient::new(own, Duration::from_secs(60), Limits::of(&metrics), "stalled");
        let reads = async {
            let mut buffer = [0; 16];
            for _ in 0..4 {
                sleep(Duration::from_secs(59)).await;
                other.read_exact(&mut buffer).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(own.write_all(&[7; 64]), reads);
        written.unwrap();
        assert!(!metrics.text().contains("stalled"));
        let ended = own.write_all(&[7; 64]).await.unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
        assert!(own.shutdown().await.is_ok());
        let counted = "firstlight_limit_reached_total{limit=\"stalled\"} 1\n";
        assert!(metrics.text().contains(counted), "{}", metrics.text());
    }
}
