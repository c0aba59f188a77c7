//! The text forms of durations and timestamps.

use chrono::{DateTime, FixedOffset};
use machinery::duration::SECOND;

/// Parses RFC 3339 as `timestamp()` and the format `date-time` do. `T` and `Z` may be in lower case; a space is not a
/// separator.
pub(crate) fn parse_timestamp(text: &str) -> Option<DateTime<FixedOffset>> {
    let normal = text.replacen('t', "T", 1).replace('z', "Z");
    DateTime::parse_from_rfc3339(&normal).ok().filter(|_| normal.as_bytes().get(10) == Some(&b'T'))
}

/// Formats a duration in seconds, as `string(duration)` does.
pub(crate) fn show_duration(nanos: i64) -> String {
    let (seconds, rest) = (nanos / SECOND, (nanos % SECOND).abs());
    if rest == 0 {
        return format!("{seconds}s");
    }
    let sign = if nanos < 0 && seconds == 0 { "-" } else { "" };
    let fraction = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

/// Formats a timestamp as `string(timestamp)` does.
pub(crate) fn show_timestamp(at: &DateTime<FixedOffset>) -> String {
    let text = at.to_rfc3339_opts(chrono::SecondsFormat::Nanos, true);
    let (head, rest) = text.split_at(19);
    let zone = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len());
    let (fraction, zone) = rest.split_at(zone);
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{head}{fraction}{zone}")
}
