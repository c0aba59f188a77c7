//! Times that are given, and durations. What would read the clock is in [`super::unavailable`].

use super::{Function, Parameter, function};
use crate::error::Outcome;
use crate::values::{Time, Value, Work, layout};
use Parameter::{Any, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    function("toDate", &[Text, Text], |work, a| {
        Ok(Value::Time(parse(work, &a.characters(0), &a.characters(1))?.unwrap_or_else(Time::zero)))
    }),
    function("mustToDate", &[Text, Text], |work, a| match parse(work, &a.characters(0), &a.characters(1))? {
        Some(time) => Ok(Value::Time(time)),
        None => Err(format!("{:?} is no time like {:?}", a.characters(1), a.characters(0)).into()),
    }),
    function("mustDateModify", &[Text, Parameter::Time], |_, a| modify(&a.characters(0), a.value(1))),
    function("must_date_modify", &[Text, Parameter::Time], |_, a| modify(&a.characters(0), a.value(1))),
    function("unixEpoch", &[Parameter::Time], |work, a| match a.value(0) {
        Value::Time(time) => work.text(time.unix().to_string()),
        other => Ok(other.clone()),
    }),
    function("duration", &[Any], |work, a| {
        let seconds = match a.value(0) {
            Value::Text(text) => String::from_utf8_lossy(text).parse().unwrap_or_default(),
            Value::Int64(seconds) => *seconds,
            _ => 0i64,
        };
        work.text(written(seconds.wrapping_mul(SECOND)))
    }),
    function("durationRound", &[Any], |work, a| {
        let duration = match a.value(0) {
            Value::Text(text) => parse_duration(&String::from_utf8_lossy(text)).unwrap_or_default(),
            Value::Int64(nanoseconds) => *nanoseconds,
            Value::Time(_) => return Err("it would read the clock, and differ each time".into()),
            _ => 0,
        };
        work.text(rounded(duration.unsigned_abs()))
    }),
];

const SECOND: i64 = 1_000_000_000;

fn parse(work: &mut Work, layout: &str, text: &str) -> Outcome<Option<Time>> {
    work.steps(layout.len() / 4 + text.len() / 16)?;
    Ok(layout::parse(layout, text))
}

fn modify(duration: &str, time: &Value) -> Outcome<Value> {
    let Some(nanoseconds) = parse_duration(duration) else {
        return Err(format!("{duration:?} is no duration such as 1h30m").into());
    };
    match time {
        Value::Time(time) => Ok(Value::Time(time.later(nanoseconds))),
        other => Ok(other.clone()),
    }
}

/// Reads a duration such as `-1h2.5m`, in nanoseconds.
fn parse_duration(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total: i128 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|end| *end > 0)?;
        let (number, after) = rest.split_at(end);
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') || number.len() > 30 {
            return None;
        }
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        total += digits.checked_mul(unit)? / 10i128.checked_pow(fraction.len() as u32)?;
        rest = after;
    }
    i64::try_from(total * sign).ok()
}

/// A duration in hours, minutes and seconds, or in the unit that is the largest below a second.
fn written(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let magnitude = nanoseconds.unsigned_abs();
    let with_fraction = |unit: u64, name: &str| {
        let digits = unit.ilog10() as usize;
        let fraction = format!("{:0digits$}", magnitude % unit);
        let fraction = fraction.trim_end_matches('0');
        let point = if digits == 0 || fraction.is_empty() { "" } else { "." };
        format!("{sign}{}{point}{}{name}", magnitude / unit, if digits == 0 { "" } else { fraction })
    };
    match magnitude {
        0 => "0s".to_owned(),
        1..1_000 => with_fraction(1, "ns"),
        1_000..1_000_000 => with_fraction(1_000, "µs"),
        1_000_000..1_000_000_000 => with_fraction(1_000_000, "ms"),
        _ => {
            let (minutes, seconds) = (magnitude / 60_000_000_000, magnitude % 60_000_000_000);
            let nanoseconds = format!("{:09}", seconds % 1_000_000_000);
            let fraction = nanoseconds.trim_end_matches('0');
            let point = if fraction.is_empty() { "" } else { "." };
            let seconds = format!("{}{point}{fraction}s", seconds / 1_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}"),
            }
        }
    }
}

/// The largest unit of which there is more than one.
fn rounded(nanoseconds: u64) -> String {
    const HOUR: u64 = 3_600_000_000_000;
    let units = [
        (HOUR * 24 * 365, "y"),
        (HOUR * 24 * 30, "mo"),
        (HOUR * 24, "d"),
        (HOUR, "h"),
        (HOUR / 60, "m"),
        (HOUR / 3600, "s"),
    ];
    let unit = units.iter().find(|(unit, _)| nanoseconds > *unit);
    unit.map_or_else(|| "0s".to_owned(), |(unit, name)| format!("{}{name}", nanoseconds / unit))
}
