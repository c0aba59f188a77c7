//! Parser for the schedules of CronJobs, which are five fields or a descriptor such as `@daily`.

/// The range of numbers of a schedule field, and names for the numbers from `least` on.
struct Field {
    least: u32,
    most: u32,
    words: &'static [&'static str],
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: [Field; 5] = [
    Field { least: 0, most: 59, words: &[] },
    Field { least: 0, most: 23, words: &[] },
    Field { least: 1, most: 31, words: &[] },
    Field { least: 1, most: 12, words: &MONTHS },
    Field { least: 0, most: 6, words: &DAYS },
];

/// Checks that a schedule can be parsed.
///
/// # Errors
/// The message of the cron parser that kube-apiserver uses.
pub(crate) fn check(text: &str) -> Result<(), String> {
    if text.starts_with('@') {
        return named(text);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (text, field) in fields.iter().zip(&FIELDS) {
        text.split(',').filter(|part| !part.is_empty()).try_for_each(|part| range(part, field))?;
    }
    Ok(())
}

fn named(text: &str) -> Result<(), String> {
    const NAMES: [&str; 7] =
        ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
    if NAMES.contains(&text) {
        return Ok(());
    }
    let Some(period) = text.strip_prefix("@every ") else {
        return Err(format!("unrecognized descriptor: {text}"));
    };
    let why = format!("failed to parse duration {text}: time: invalid duration {period:?}");
    machinery::duration::parse(period).map(|_| ()).ok_or(why)
}

/// Checks one element of a field: `*`, `5` or `1-5`, optionally with a step, as in `*/5`.
fn range(text: &str, field: &Field) -> Result<(), String> {
    let (limits, step) = match text.split('/').collect::<Vec<_>>()[..] {
        [limits] => (limits, None),
        [limits, step] => (limits, Some(step)),
        _ => return Err(format!("too many slashes: {text}")),
    };
    let parts: Vec<&str> = limits.split('-').collect();
    let (low, mut high) = match parts[..] {
        ["*" | "?"] => (field.least, field.most),
        [one] => number(one, field).map(|one| (one, one))?,
        [low, high] if !matches!(low, "*" | "?") => (number(low, field)?, number(high, field)?),
        [_, _] => (field.least, field.most),
        _ => return Err(format!("too many hyphens: {text}")),
    };
    if let Some(step) = step {
        let step = plain(step)?;
        if parts.len() == 1 {
            high = field.most;
        }
        if step == 0 {
            return Err(format!("step of range should be a positive number: {text}"));
        }
    }
    let (least, most) = (field.least, field.most);
    if low < least {
        return Err(format!("beginning of range ({low}) below minimum ({least}): {text}"));
    }
    if high > most {
        return Err(format!("end of range ({high}) above maximum ({most}): {text}"));
    }
    if low > high {
        return Err(format!("beginning of range ({low}) beyond end of range ({high}): {text}"));
    }
    Ok(())
}

fn number(text: &str, field: &Field) -> Result<u32, String> {
    let word = field.words.iter().zip(field.least..).find(|(word, _)| text.eq_ignore_ascii_case(word));
    word.map_or_else(|| plain(text), |(_, number)| Ok(number))
}

fn plain(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"
        ));
    }
    if text.starts_with('-') {
        return Err(format!("negative number ({text}) not allowed: {text}"));
    }
    digits.parse().map_err(|_| {
        format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: value out of range")
    })
}

/// The area names of the time zone database.
const AREAS: [&str; 11] = [
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
    "Etc",
];

/// Returns whether a name has the form of a time zone. This crate has no time zone database, so any place in a known
/// area passes.
pub(crate) fn is_zone(name: &str) -> bool {
    let plain = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte);
        part.bytes().next().is_some_and(|first| first.is_ascii_uppercase()) && part.bytes().all(inner)
    };
    match name.split_once('/') {
        Some((area, place)) => {
            let older = ["US", "Canada", "Brazil", "Chile", "Mexico"];
            (AREAS.contains(&area) || older.contains(&area)) && place.split('/').all(plain)
        }
        None => plain(name),
    }
}
