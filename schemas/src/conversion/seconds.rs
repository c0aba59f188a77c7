//! Durations of older versions, which are whole seconds in `v1beta2`.

use machinery::duration::{SECOND, parse_nanoseconds};

/// Returns the whole seconds of a duration such as `10m0s`, at most the largest `int32`; `None` if it is no duration.
pub fn whole_seconds(text: &str) -> Option<i32> {
    let seconds = parse_nanoseconds(text)? / SECOND;
    Some(i32::try_from(seconds).unwrap_or(if seconds < 0 { i32::MIN } else { i32::MAX }))
}
