//! Parts of durations and timestamps, for example `getHours`.

use chrono::{DateTime, Datelike, FixedOffset, Offset, Timelike, Utc};
use machinery::duration::SECOND;

use crate::values::{Failure, Outcome, Val};

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let part = match args {
        [value] => part(name, value, None),
        [value @ Val::Timestamp(_), Val::Text(zone)] => part(name, value, Some(zone)),
        _ => None,
    };
    part.map(|part| part.map(Val::Int))
}

/// Evaluates `getFullYear()` and similar functions of timestamps (in `zone`, by default UTC) and durations.
fn part(name: &str, value: &Val<'_>, zone: Option<&str>) -> Option<Result<i64, Failure>> {
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
