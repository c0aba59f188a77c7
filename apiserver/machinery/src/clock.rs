//! The clock. All code that needs the current time receives a [`Clock`], so that tests and the simulation control it.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};

/// A source of wall-clock time, either real or simulated.
#[derive(Clone)]
pub struct Clock(Arc<Source>);

enum Source {
    System,
    /// The wall time is `epoch` plus the time that tokio's paused clock has advanced since `start`.
    Simulated {
        epoch: DateTime<Utc>,
        start: tokio::time::Instant,
    },
}

impl Clock {
    /// Returns a clock that follows the system's time.
    pub fn system() -> Self {
        Self(Arc::new(Source::System))
    }

    /// Returns a clock that starts at `epoch` and follows tokio's time, which a test or the simulation pauses.
    #[expect(clippy::disallowed_methods, reason = "the only access to the clock")]
    pub fn simulated(epoch: DateTime<Utc>) -> Self {
        Self(Arc::new(Source::Simulated { epoch, start: tokio::time::Instant::now() }))
    }

    /// Returns the current time in UTC.
    #[expect(clippy::disallowed_methods, reason = "the only access to the clock")]
    pub fn now(&self) -> DateTime<Utc> {
        match &*self.0 {
            Source::System => Utc::now(),
            Source::Simulated { epoch, start } => {
                *epoch + chrono::Duration::from_std(start.elapsed()).unwrap_or(chrono::Duration::MAX)
            }
        }
    }

    /// Returns monotonic time, which is only suitable for measuring durations.
    #[expect(clippy::disallowed_methods, reason = "the only access to the clock")]
    pub fn monotonic(&self) -> tokio::time::Instant {
        tokio::time::Instant::now()
    }

    /// Sleeps for `duration` of this clock's time.
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// Formats RFC 3339 with seconds, as `metav1.Time` is encoded, for example `2026-11-21T02:48:04Z`.
pub fn rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Formats RFC 3339 with microseconds, as `metav1.MicroTime` is encoded.
pub fn rfc3339_micro(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// Parses an RFC 3339 time, or returns `None` if the text is not one.
pub fn parse_rfc3339(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc))
}
