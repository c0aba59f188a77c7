//! Conversion between the clock's times and the times in objects.

use chrono::{DateTime, Utc};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

/// Returns a `metav1.Time`, which has a resolution of seconds.
pub fn time(at: DateTime<Utc>) -> Time {
    Time(Timestamp::from_second(at.timestamp()).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// Returns the clock's time for a `metav1.Time`.
pub fn utc(at: &Time) -> DateTime<Utc> {
    DateTime::from_timestamp(at.0.as_second(), 0).unwrap_or_default()
}
