//! Durations and timestamps of CEL.

use chrono::{DateTime, Datelike, FixedOffset, Offset, TimeDelta, Timelike, Utc};

use super::value::{Failure, Outcome, Val};

/// One second in nanoseconds, the unit of durations in this module.
pub const SECOND: i64 = 1_000_000_000;

/// Parses a duration like Go's `time.ParseDuration`. Returns nanoseconds, or `None` if the text is not a duration.
pub fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (amount, after) = split_number(rest)?;
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let unit: i128 = match &after[..end] {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        total += scale(amount, unit)?;
        rest = &after[end..];
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| c != '.' && !c.is_ascii_digit())?;
    let number = &text[..end];
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    (digits > 0 && number.matches('.').count() <= 1).then_some((number, &text[end..]))
}

fn scale(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(unit)?;
    let mut step = unit;
    for digit in fraction.chars().filter_map(|c| c.to_digit(10)) {
        step /= 10;
        total += i128::from(digit) * step;
    }
    Some(total)
}

/// Parses the OpenAPI format `duration`. Beside Go's durations it accepts days and weeks, words (`3 hours`), and any
/// text that ends in such an amount.
pub fn parse_openapi_duration(text: &str) -> Option<i64> {
    if let Some(duration) = parse_duration(text) {
        return Some(duration);
    }
    let mut total: i128 = 0;
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[start..];
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let amount: i128 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let word = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let unit = unit_of(&rest[..word].to_lowercase());
        rest = &rest[word..];
        if let Some(unit) = unit {
            total = total.checked_add(amount.checked_mul(unit)?)?;
            found = true;
        }
    }
    if found { i64::try_from(total).ok() } else { None }
}

fn unit_of(word: &str) -> Option<i128> {
    let second = i128::from(SECOND);
    Some(match word {
        "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => 1,
        "us" | "µs" | "micro" | "micros" | "microsecond" | "microseconds" => 1_000,
        "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => second,
        "m" | "min" | "mins" | "minute" | "minutes" => 60 * second,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600 * second,
        "d" | "day" | "days" => 24 * 3600 * second,
        "w" | "wk" | "week" | "weeks" => 7 * 24 * 3600 * second,
        _ => return None,
    })
}

/// Parses RFC 3339 as `timestamp()` and the format `date-time` do. `T` and `Z` may be in lower case; a space is not a
/// separator.
pub fn parse_timestamp(text: &str) -> Option<DateTime<FixedOffset>> {
    let normal = text.replacen('t', "T", 1).replace('z', "Z");
    DateTime::parse_from_rfc3339(&normal).ok().filter(|_| normal.as_bytes().get(10) == Some(&b'T'))
}

fn shifted(at: &DateTime<FixedOffset>, nanos: i64) -> Outcome<'static> {
    at.checked_add_signed(TimeDelta::nanoseconds(nanos))
        .filter(|at| (1..=9999).contains(&at.year()))
        .map(Val::Timestamp)
        .ok_or("timestamp overflow".into())
}

/// Evaluates `+` and `-` of durations and timestamps. Returns `None` for other operands.
pub fn arithmetic<'a>(name: &str, a: &Val<'a>, b: &Val<'a>) -> Option<Outcome<'a>> {
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

/// Evaluates `getFullYear()` and similar functions of timestamps (in `zone`, by default UTC) and durations.
pub fn part(name: &str, value: &Val<'_>, zone: Option<&str>) -> Option<Result<i64, Failure>> {
    if let Val::Duration(nanos) = value {
        return Some(Ok(match name {
            "getHours" => nanos / (3600 * SECOND),
            "getMinutes" => nanos / (60 * SECOND),
            "getSeconds" => nanos / SECOND,
            "getMilliseconds" => nanos / 1_000_000,
            _ => return None,
        }));
    }
    let Val::Timestamp(at) = value else { return None };
    let zone = zone.unwrap_or_default();
    let Some(at) = local(at, zone) else { return Some(Err(format!("unknown time zone {zone}").into())) };
    Some(Ok(match name {
        "getFullYear" => i64::from(at.year()),
        "getMonth" => i64::from(at.month0()),
        "getDayOfYear" => i64::from(at.ordinal0()),
        "getDayOfMonth" => i64::from(at.day0()),
        "getDate" => i64::from(at.day()),
        "getDayOfWeek" => i64::from(at.weekday().num_days_from_sunday()),
        "getHours" => i64::from(at.hour()),
        "getMinutes" => i64::from(at.minute()),
        "getSeconds" => i64::from(at.second()),
        "getMilliseconds" => i64::from(at.nanosecond() / 1_000_000),
        _ => return None,
    }))
}

/// Converts a time to a zone: `UTC`, an offset such as `+01:00`, or a name of the IANA database.
fn local(at: &DateTime<FixedOffset>, zone: &str) -> Option<DateTime<FixedOffset>> {
    if matches!(zone, "" | "UTC" | "Local") {
        return Some(at.with_timezone(&Utc.fix()));
    }
    let Some((hours, minutes)) = zone.split_once(':') else {
        let named: chrono_tz::Tz = zone.parse().ok()?;
        return Some(at.with_timezone(&named).fixed_offset());
    };
    let (sign, hours) = match hours.as_bytes().first()? {
        b'-' => (-1, &hours[1..]),
        b'+' => (1, &hours[1..]),
        _ => (1, hours),
    };
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?;
    Some(at.with_timezone(&FixedOffset::east_opt(sign * seconds)?))
}

/// Formats a duration in seconds, as `string(duration)` does.
pub fn show_duration(nanos: i64) -> String {
    let (seconds, rest) = (nanos / SECOND, (nanos % SECOND).abs());
    if rest == 0 {
        return format!("{seconds}s");
    }
    let sign = if nanos < 0 && seconds == 0 { "-" } else { "" };
    let fraction = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

/// Formats a timestamp as `string(timestamp)` does.
pub fn show_timestamp(at: &DateTime<FixedOffset>) -> String {
    let text = at.to_rfc3339_opts(chrono::SecondsFormat::Nanos, true);
    let (head, rest) = text.split_at(19);
    let zone = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len());
    let (fraction, zone) = rest.split_at(zone);
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{head}{fraction}{zone}")
}
