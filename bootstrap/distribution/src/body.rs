//! The body of an answer, which must come with a minimum speed.

use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use crate::limits;
use crate::retry::Failure;

/// The slowest that a registry may send.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// So many bytes must come.
    pub bytes: u64,
    /// In each of these periods.
    pub period: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { bytes: limits::PROGRESS, period: limits::SILENCE }
    }
}

/// A body that is being received.
pub(crate) struct Body {
    /// Where it comes from, for messages.
    url: String,
    body: Incoming,
    pace: Pace,
    /// The bytes of this period.
    came: u64,
    end: Pin<Box<Sleep>>,
}

impl Body {
    pub(crate) fn new(url: String, body: Incoming, pace: Pace) -> Self {
        Self { url, body, pace, came: 0, end: Box::pin(sleep(pace.period)) }
    }

    /// Returns the next piece.
    ///
    /// # Errors
    /// The connection ends too soon, or is too slow.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            // What has come is never too late, however long this side was busy with the piece before.
            let frame = tokio::select! {
                biased;
                frame = self.body.frame() => frame,
                () = &mut self.end => {
                    self.judge()?;
                    continue;
                }
            };
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.with_context(|| format!("{}: the connection was cut off", self.url))?;
            if let Ok(bytes) = frame.into_data() {
                self.came += bytes.len() as u64;
                return Ok(Some(bytes));
            }
        }
    }

    fn judge(&mut self) -> Result<()> {
        let Pace { bytes, period } = self.pace;
        ensure!(
            self.came >= bytes,
            "{} is too slow: {} bytes came in {period:?}, and at least {bytes} must",
            self.url,
            self.came
        );
        self.came = 0;
        let next = self.end.deadline() + period;
        self.end.as_mut().reset(next);
        Ok(())
    }

    /// Reads a whole body of at most `most` bytes.
    ///
    /// # Errors
    /// It is longer, is cut off, or does not come in time.
    pub(crate) async fn whole(mut self, most: u64) -> Result<Bytes, Failure> {
        let mut content = Vec::new();
        while let Some(bytes) = self.next().await.map_err(Failure::Passing)? {
            content.extend_from_slice(&bytes);
            if content.len() as u64 > most {
                return Err(Failure::Lasting(anyhow!("{} has more than {most} bytes", self.url)));
            }
        }
        Ok(content.into())
    }
}
