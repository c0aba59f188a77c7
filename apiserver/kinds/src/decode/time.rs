//! Parsing of times with the error messages of Go.

/// Converts a time to the form in which the API stores it: in UTC, with whole seconds or (`micro`) six fractional
/// digits.
pub(crate) fn canonical(text: &mut String, micro: bool) {
    let length = if micro { "2006-01-02T15:04:05.000000Z".len() } else { "2006-01-02T15:04:05Z".len() };
    if text.len() == length && text.ends_with('Z') {
        return;
    }
    if let Some(time) = machinery::clock::parse_rfc3339(text) {
        let form = if micro { "%Y-%m-%dT%H:%M:%S%.6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
        *text = time.format(form).to_string();
    }
}

/// Checks `text` against one of the two layouts of the API, `metav1.Time` or `metav1.MicroTime`.
///
/// # Errors
/// Go's message, which names the part of the layout that does not match.
pub(crate) fn check(text: &str, layout: &str) -> Result<(), String> {
    let fail = |value: &str, element: &str| {
        Err(format!("parsing time \"{text}\" as \"{layout}\": cannot parse \"{value}\" as \"{element}\""))
    };
    let mut rest = text;
    for (element, length) in [
        ("2006", 4),
        ("-", 1),
        ("01", 2),
        ("-", 1),
        ("02", 2),
        ("T", 1),
        ("15", 2),
        (":", 1),
        ("04", 2),
        (":", 1),
        ("05", 2),
    ] {
        let part = rest.get(..length).unwrap_or_default();
        let good = if length == 1 {
            part == element
        } else {
            part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !good {
            return fail(rest, element);
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    let fraction =
        rest.strip_prefix('.').map_or(0, |digits| digits.bytes().take_while(u8::is_ascii_digit).count());
    if layout.contains(".000000") {
        if fraction < 6 {
            return fail(rest, ".000000");
        }
        rest = rest.get(7..).unwrap_or_default();
    } else if fraction > 0 {
        rest = rest.get(fraction + 1..).unwrap_or_default();
    }
    let zone_is_numeric = rest.len() == 6
        && rest.starts_with(['+', '-'])
        && rest
            .bytes()
            .skip(1)
            .enumerate()
            .all(|(i, byte)| if i == 2 { byte == b':' } else { byte.is_ascii_digit() });
    if rest.starts_with('Z') && rest.len() > 1 {
        return Err(format!(
            "parsing time \"{text}\": extra text: \"{}\"",
            rest.get(1..).unwrap_or_default()
        ));
    }
    if rest != "Z" && !zone_is_numeric {
        return fail(rest, "Z07:00");
    }
    if machinery::clock::parse_rfc3339(text).is_none() {
        return Err(format!("parsing time \"{text}\": day out of range"));
    }
    Ok(())
}
