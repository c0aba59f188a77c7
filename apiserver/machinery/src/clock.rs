//! The door to time. Everything that needs "now" is given a [`Clock`].

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};

/// Wall-clock time that the simulation can own.
#[derive(Clone)]
pub struct Clock(Arc<Source>);

enum Source {
    System,
    /// Wall time = `epoch` + what tokio's (paused, hence simulated) clock has advanced since `start`.
    Simulated {
        epoch: DateTime<Utc>,
        start: tokio::time::Instant,
    },
}

impl Clock {
    /// The machine's own clock.
    pub fn system() -> Self {
        Self(Arc::new(Source::System))
    }

    /// A clock that starts at `epoch` and follows tokio's time, which a test or the simulation pauses.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn simulated(epoch: DateTime<Utc>) -> Self {
        Self(Arc::new(Source::Simulated { epoch, start: tokio::time::Instant::now() }))
    }

    /// The time now, in UTC.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn now(&self) -> DateTime<Utc> {
        match &*self.0 {
            Source::System => Utc::now(),
            Source::Simulated { epoch, start } => {
                *epoch + chrono::Duration::from_std(start.elapsed()).unwrap_or(chrono::Duration::MAX)
            }
        }
    }

    /// Monotonic time since some fixed point of this process; for measuring durations only.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn monotonic(&self) -> tokio::time::Instant {
        tokio::time::Instant::now()
    }

    /// Sleeps for `duration` of this clock's time.
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// RFC 3339 with seconds, as `metav1.Time` is written: `2026-11-21T02:48:04Z`.
pub fn rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// RFC 3339 with microseconds, as `metav1.MicroTime` is written.
pub fn rfc3339_micro(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// Reads an RFC 3339 time; `None` when it is not one.
pub fn parse_rfc3339(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc))
}
