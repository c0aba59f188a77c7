//! A response body whose bytes are counted as they are sent.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use prometheus_client::metrics::counter::Counter;

use super::file::Body;

/// Adds the bytes of the inner body to a counter.
pub(super) struct Counted {
    inner: Body,
    sent: Counter,
}

impl Counted {
    pub(super) fn new(inner: Body, sent: Counter) -> Self {
        Self { inner, sent }
    }
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.sent.inc_by(frame.data_ref().map_or(0, Bytes::len) as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
