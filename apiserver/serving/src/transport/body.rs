//! The body of a response.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures::Stream;
use http_body::{Frame, SizeHint};
use machinery::clock::Clock;

use super::connections::Sending;

/// A response body: empty, bytes in one or more pieces, or a stream.
pub struct Body {
    inner: Inner,
    /// The place where the body records whether the peer is reading it.
    sending: Option<(Sending, Clock)>,
}

enum Inner {
    Pieces { pieces: VecDeque<Bytes>, left: u64 },
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

/// Pieces are combined into frames of up to this size.
pub const FRAME_BYTES: usize = 16 * 1024;

impl Body {
    /// Creates an empty body.
    pub fn empty() -> Self {
        Self::pieces([])
    }

    /// Creates a body of several pieces, which are sent in order without copying them into one buffer.
    pub fn pieces(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        let pieces: VecDeque<Bytes> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        let left = pieces.iter().map(|piece| piece.len() as u64).sum();
        Self { inner: Inner::Pieces { pieces, left }, sending: None }
    }

    /// Creates a body from a stream of bytes.
    pub fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self { inner: Inner::Stream(Box::pin(stream)), sending: None }
    }

    /// Records in `sending` whether the peer is reading the body.
    pub(crate) fn noted(mut self, sending: Sending, clock: Clock) -> Self {
        self.sending = Some((sending, clock));
        self
    }
}

/// Returns the next bytes to send. Small pieces are combined, since a frame costs as much as copying a few
/// kilobytes.
fn next_frame(pieces: &mut VecDeque<Bytes>) -> Option<Bytes> {
    let first = pieces.pop_front()?;
    if first.len() >= FRAME_BYTES || pieces.is_empty() {
        return Some(first);
    }
    let mut frame = BytesMut::with_capacity(FRAME_BYTES);
    frame.extend_from_slice(&first);
    while pieces.front().is_some_and(|piece| frame.len() + piece.len() <= FRAME_BYTES)
        && let Some(piece) = pieces.pop_front()
    {
        frame.extend_from_slice(&piece);
    }
    Some(frame.freeze())
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self::pieces([bytes.into()])
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.inner {
            Inner::Pieces { left, .. } => write!(f, "Body({left} bytes)"),
            Inner::Stream(_) => f.write_str("Body(stream)"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.inner {
            Inner::Pieces { pieces, left } => Poll::Ready(next_frame(pieces).map(|bytes| {
                *left -= bytes.len() as u64;
                Ok(Frame::data(bytes))
            })),
            Inner::Stream(stream) => {
                stream.as_mut().poll_next(context).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
            }
        };
        if let Some((sending, clock)) = &self.sending {
            // hyper polls for the next piece once the previous one was sent.
            sending.waits(next.is_ready().then(|| clock.monotonic()));
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.inner, Inner::Pieces { left: 0, .. })
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Pieces { left, .. } => SizeHint::with_exact(*left),
            Inner::Stream(_) => SizeHint::default(),
        }
    }
}
