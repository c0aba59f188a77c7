//! Durations and timestamps as text.

use chrono::{DateTime, FixedOffset};
use machinery::duration::SECOND;

/// Go's RFC 3339, as `timestamp()` and `date-time` read it; a space or a lower-case `t` is no separator.
pub(crate) fn parse_timestamp(text: &str) -> Option<DateTime<FixedOffset>> {
    let normal = text.replacen('t', "T", 1).replace('z', "Z");
    DateTime::parse_from_rfc3339(&normal).ok().filter(|_| normal.as_bytes().get(10) == Some(&b'T'))
}

/// `string(duration)`: seconds.
pub(crate) fn show_duration(nanos: i64) -> String {
    let (seconds, rest) = (nanos / SECOND, (nanos % SECOND).abs());
    if rest == 0 {
        return format!("{seconds}s");
    }
    let sign = if nanos < 0 && seconds == 0 { "-" } else { "" };
    let fraction = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

/// `string(timestamp)`.
pub(crate) fn show_timestamp(at: &DateTime<FixedOffset>) -> String {
    let text = at.to_rfc3339_opts(chrono::SecondsFormat::Nanos, true);
    let (head, rest) = text.split_at(19);
    let zone = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len());
    let (fraction, zone) = rest.split_at(zone);
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{head}{fraction}{zone}")
}
