//! Arithmetic of durations and timestamps.

use chrono::{DateTime, Datelike, FixedOffset, TimeDelta};

use crate::values::{Failure, Outcome, Val};

fn shifted(at: &DateTime<FixedOffset>, nanos: i64) -> Outcome<'static> {
    at.checked_add_signed(TimeDelta::nanoseconds(nanos))
        .filter(|at| (1..=9999).contains(&at.year()))
        .map(Val::Timestamp)
        .ok_or("timestamp overflow".into())
}

/// Evaluates `+` and `-` of durations and timestamps. Returns `None` for other operands.
pub(super) fn arithmetic<'a>(name: &str, a: &Val<'a>, b: &Val<'a>) -> Option<Outcome<'a>> {
    let overflow = || Failure::Borrowed("duration overflow");
    Some(match (name, a, b) {
        ("_+_", Val::Duration(a), Val::Duration(b)) => {
            a.checked_add(*b).map(Val::Duration).ok_or_else(overflow)
        }
        ("_-_", Val::Duration(a), Val::Duration(b)) => {
            a.checked_sub(*b).map(Val::Duration).ok_or_else(overflow)
        }
        ("_+_", Val::Timestamp(at), Val::Duration(d)) | ("_+_", Val::Duration(d), Val::Timestamp(at)) => {
            shifted(at, *d)
        }
        ("_-_", Val::Timestamp(at), Val::Duration(d)) => {
            d.checked_neg().map_or_else(|| Err(overflow()), |d| shifted(at, d))
        }
        ("_-_", Val::Timestamp(a), Val::Timestamp(b)) => {
            (*a - *b).num_nanoseconds().map(Val::Duration).ok_or_else(overflow)
        }
        _ => return None,
    })
}
