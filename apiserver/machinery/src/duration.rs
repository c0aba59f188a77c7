//! Durations in Go's format, for example `90s`, `1h30m`, `500ms` or `1.5s`.

use std::time::Duration;

/// One second in nanoseconds.
pub const SECOND: i64 = 1_000_000_000;

/// Parses a duration. Returns `None` if the text is not a duration, is negative, or is out of range.
pub fn parse(text: &str) -> Option<Duration> {
    u64::try_from(parse_nanoseconds(text)?).ok().map(Duration::from_nanos)
}

/// Parses a duration like Go's `time.ParseDuration`. Returns nanoseconds, or `None` if the text is not a duration.
pub fn parse_nanoseconds(text: &str) -> Option<i64> {
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

/// Writes seconds as Go writes a duration: `45s`, `10m0s`, `1h0m5s`.
pub fn of_seconds(seconds: i64) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    let seconds = seconds.unsigned_abs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{sign}{rest}s"),
        (0, _) => format!("{sign}{minutes}m{rest}s"),
        _ => format!("{sign}{hours}h{minutes}m{rest}s"),
    }
}

/// Parses the OpenAPI format `duration`. Beside Go's durations it accepts days and weeks, words (`3 hours`), and any
/// text that ends in such an amount.
pub fn parse_openapi(text: &str) -> Option<i64> {
    if let Some(duration) = parse_nanoseconds(text) {
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
        let unit = openapi_unit(&rest[..word].to_lowercase());
        rest = &rest[word..];
        if let Some(unit) = unit {
            total = total.checked_add(amount.checked_mul(unit)?)?;
            found = true;
        }
    }
    if found { i64::try_from(total).ok() } else { None }
}

fn openapi_unit(word: &str) -> Option<i128> {
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
