//! What times and versions can be asked for: methods, which are called like fields.

use std::cmp::Ordering;
use std::sync::Arc;

use chrono::{Datelike, Timelike};

use super::{Arguments, Function, Parameter, function};
use crate::error::Outcome;
use crate::values::version::{Version, is_identifiers, is_prerelease};
use crate::values::{Time, Value, Work, layout};
use Parameter::Text;

/// The method of a value.
pub(crate) fn find(receiver: &Value, name: &str) -> Option<&'static Function> {
    let table = match receiver {
        Value::Time(_) => TIME,
        Value::Version(_) => VERSION,
        Value::Month(_) | Value::Weekday(_) => NAMED,
        _ => return None,
    };
    table.iter().find(|function| function.name == name)
}

const NAMED: &[Function] = &[function("String", &[], text)];

const TIME: &[Function] = &[
    function("String", &[], text),
    function("Format", &[Text], |work, a| {
        work.steps(a.text(1).len())?;
        let text = layout::format(time(a), &a.characters(1));
        work.text(text)
    }),
    function("Unix", &[], |_, a| Ok(Value::Int64(time(a).unix()))),
    function("UnixMilli", &[], |_, a| Ok(Value::Int64(time(a).utc.and_utc().timestamp_millis()))),
    function("Year", &[], |_, a| Ok(Value::Int(i64::from(time(a).local().year())))),
    function("Month", &[], |_, a| Ok(Value::Month(i64::from(time(a).local().month())))),
    function("Day", &[], |_, a| Ok(Value::Int(i64::from(time(a).local().day())))),
    function("YearDay", &[], |_, a| Ok(Value::Int(i64::from(time(a).local().ordinal())))),
    function("Weekday", &[], |_, a| {
        Ok(Value::Weekday(i64::from(time(a).local().weekday().num_days_from_sunday())))
    }),
    function("Hour", &[], |_, a| Ok(Value::Int(i64::from(time(a).local().hour())))),
    function("Minute", &[], |_, a| Ok(Value::Int(i64::from(time(a).local().minute())))),
    function("Second", &[], |_, a| Ok(Value::Int(i64::from(time(a).local().second())))),
    function("Nanosecond", &[], |_, a| Ok(Value::Int(i64::from(time(a).local().nanosecond())))),
    function("IsZero", &[], |_, a| Ok(Value::Bool(time(a).utc == Time::zero().utc))),
    function("UTC", &[], |_, a| {
        Ok(Value::Time(Time { offset: 0, zone: "UTC".to_owned(), ..time(a).clone() }))
    }),
    function("Before", &[Parameter::Time], |_, a| Ok(Value::Bool(time(a).utc < other_time(a).utc))),
    function("After", &[Parameter::Time], |_, a| Ok(Value::Bool(time(a).utc > other_time(a).utc))),
    function("Equal", &[Parameter::Time], |_, a| Ok(Value::Bool(time(a).utc == other_time(a).utc))),
];

const VERSION: &[Function] = &[
    function("String", &[], text),
    function("Original", &[], |work, a| work.text(&version(a).original)),
    function("Major", &[], |_, a| Ok(Value::Uint64(version(a).major))),
    function("Minor", &[], |_, a| Ok(Value::Uint64(version(a).minor))),
    function("Patch", &[], |_, a| Ok(Value::Uint64(version(a).patch))),
    function("Prerelease", &[], |work, a| work.text(&version(a).prerelease)),
    function("Metadata", &[], |work, a| work.text(&version(a).metadata)),
    function("IncMajor", &[], |_, a| Ok(changed(version(a).next(version(a).major.wrapping_add(1), 0, 0)))),
    function("IncMinor", &[], |_, a| {
        Ok(changed(version(a).next(version(a).major, version(a).minor.wrapping_add(1), 0)))
    }),
    function("IncPatch", &[], |_, a| {
        let version = version(a);
        // The release after a prerelease has the same numbers.
        let patch = version.patch.wrapping_add(u64::from(version.prerelease.is_empty()));
        Ok(changed(version.next(version.major, version.minor, patch)))
    }),
    function("SetPrerelease", &[Text], |_, a| {
        let prerelease = a.characters(1).into_owned();
        if !prerelease.is_empty() && !is_prerelease(&prerelease) {
            return Err(format!("{prerelease:?} is no prerelease").into());
        }
        Ok(renamed(Version { prerelease, ..version(a).clone() }))
    }),
    function("SetMetadata", &[Text], |_, a| {
        let metadata = a.characters(1).into_owned();
        if !metadata.is_empty() && !is_identifiers(&metadata) {
            return Err(format!("{metadata:?} is no metadata of a version").into());
        }
        Ok(renamed(Version { metadata, ..version(a).clone() }))
    }),
    function("Compare", &[Parameter::Version], |_, a| Ok(Value::Int(compare(a) as i64))),
    function("Equal", &[Parameter::Version], |_, a| Ok(Value::Bool(compare(a).is_eq()))),
    function("LessThan", &[Parameter::Version], |_, a| Ok(Value::Bool(compare(a).is_lt()))),
    function("LessThanEqual", &[Parameter::Version], |_, a| Ok(Value::Bool(compare(a).is_le()))),
    function("GreaterThan", &[Parameter::Version], |_, a| Ok(Value::Bool(compare(a).is_gt()))),
    function("GreaterThanEqual", &[Parameter::Version], |_, a| Ok(Value::Bool(compare(a).is_ge()))),
];

fn text(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    work.text(a.value(0).own_text().unwrap_or_default())
}

static ZERO_TIME: std::sync::LazyLock<Time> = std::sync::LazyLock::new(Time::zero);

fn as_time(value: &Value) -> &Time {
    match value {
        Value::Time(time) => time,
        _ => &ZERO_TIME,
    }
}

fn time(a: &Arguments) -> &Time {
    as_time(a.value(0))
}

fn other_time(a: &Arguments) -> &Time {
    as_time(a.value(1))
}

static ZERO_VERSION: Version = Version {
    major: 0,
    minor: 0,
    patch: 0,
    prerelease: String::new(),
    metadata: String::new(),
    original: String::new(),
};

fn as_version(value: &Value) -> &Version {
    match value {
        Value::Version(version) => version,
        _ => &ZERO_VERSION,
    }
}

fn version(a: &Arguments) -> &Version {
    as_version(a.value(0))
}

fn compare(a: &Arguments) -> Ordering {
    version(a).compare(as_version(a.value(1)))
}

fn changed(version: Version) -> Value {
    Value::Version(Arc::new(version))
}

/// A version whose original text is that of its new parts.
fn renamed(mut version: Version) -> Value {
    let prefix = if version.original.starts_with('v') { "v" } else { "" };
    version.original = format!("{prefix}{version}");
    changed(version)
}
