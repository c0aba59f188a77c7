//! Durations in Go's format, for example `90s`, `1h30m`, `500ms` or `1.5s`.

use std::time::Duration;

/// Parses a duration. Returns `None` if the text is not a duration, is negative, or is out of range.
pub fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut seconds = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let tail = &rest[digits..];
        let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        seconds += number * unit(&tail[..end])?;
        rest = &tail[end..];
    }
    Duration::try_from_secs_f64(seconds).ok()
}

fn unit(name: &str) -> Option<f64> {
    Some(match name {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_go_reads_them() {
        let cases = [
            ("90s", Some(90_000)),
            ("1h30m", Some(5_400_000)),
            ("500ms", Some(500)),
            ("1.5s", Some(1_500)),
            ("0", Some(0)),
            ("", None),
            ("5", None),
            ("m", None),
            ("1d", None),
            ("-1s", None),
            ("1..5s", None),
            ("99999999999999999999h", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).map(|duration| duration.as_millis()), expected, "{text}");
        }
    }
}
