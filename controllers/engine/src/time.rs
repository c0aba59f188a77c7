//! Conversion between the clock's times and the times in objects, and the text of durations.

use chrono::{DateTime, Utc};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

/// Returns a `metav1.Time`, which has a resolution of seconds.
pub fn time(at: DateTime<Utc>) -> Time {
    Time(Timestamp::from_second(at.timestamp()).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// Formats seconds as Go formats durations: `4m0s`, `8760h0m0s`.
pub fn go_duration(seconds: i64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}h{minutes}m{rest}s")
    } else if minutes > 0 {
        format!("{minutes}m{rest}s")
    } else {
        format!("{rest}s")
    }
}

/// Returns the clock's time for a `metav1.Time`.
pub fn utc(at: &Time) -> DateTime<Utc> {
    DateTime::from_timestamp(at.0.as_second(), 0).unwrap_or_default()
}
