//! Between the clock's times and those in objects.

use chrono::{DateTime, Utc};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::jiff::Timestamp;

/// A `metav1.Time`, which has seconds.
pub fn time(at: DateTime<Utc>) -> Time {
    Time(Timestamp::from_second(at.timestamp()).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// A `metav1.MicroTime`.
pub fn micro_time(at: DateTime<Utc>) -> MicroTime {
    MicroTime(Timestamp::from_microsecond(at.timestamp_micros()).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// The clock's time of a `metav1.Time`.
pub fn utc(at: &Time) -> DateTime<Utc> {
    DateTime::from_timestamp(at.0.as_second(), 0).unwrap_or_default()
}
