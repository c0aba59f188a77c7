//! The values of a rendering, with Go's types as far as a template can see them.
//!
//! JSON has one type of number, which is Go's `float64`; literals are `int`, and sprig's arithmetic gives `int64`. Functions accept only their own
//! types, and so a template works here if, and only if, it works upstream. Lists never change. Maps do (`set`), and all variables that have one see it.

mod list;
mod map;
mod time;
pub(crate) mod version;
mod work;

use std::sync::Arc;

pub(crate) use list::{Element, List};
pub(crate) use map::{Map, MapType};
pub(crate) use time::{MONTHS, Time, WEEKDAYS, layout};
pub(crate) use work::{Work, check_depth};

use version::Version;

/// The bytes of a string. Strings of Go need not be UTF-8.
pub(crate) type Bytes = Arc<[u8]>;

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// A key that a map does not have: Go's zero `reflect.Value`, printed as `<no value>`.
    Missing,
    /// Go's nil in an interface: JSON's null.
    Nil,
    Bool(bool),
    Int(i64),
    Int64(i64),
    /// A byte of a string.
    Uint8(u8),
    Uint64(u64),
    Float(f64),
    Text(Bytes),
    List(List),
    Map(Map),
    Time(Time),
    Month(i64),
    Weekday(i64),
    Version(Arc<Version>),
}

impl Value {
    /// A string.
    pub(crate) fn text(bytes: impl AsRef<[u8]>) -> Value {
        Value::Text(bytes.as_ref().into())
    }

    /// Whether there is nothing: no value, or nil in an interface.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Value::Missing | Value::Nil)
    }

    /// The name of the type, as Go's `%T` prints it.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Missing | Value::Nil => "<nil>",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Int64(_) => "int64",
            Value::Uint8(_) => "uint8",
            Value::Uint64(_) => "uint64",
            Value::Float(_) => "float64",
            Value::Text(_) => "string",
            Value::List(list) => list.type_name(),
            Value::Map(map) => map.type_name(),
            Value::Time(_) => "time.Time",
            Value::Month(_) => "time.Month",
            Value::Weekday(_) => "time.Weekday",
            Value::Version(_) => "*semver.Version",
        }
    }

    /// The name of the kind, as Go's `reflect.Kind` prints it.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Value::Missing | Value::Nil => "invalid",
            Value::List(_) => "slice",
            Value::Map(_) => "map",
            Value::Time(_) => "struct",
            Value::Month(_) | Value::Weekday(_) => "int",
            Value::Version(_) => "ptr",
            other => other.type_name(),
        }
    }

    /// Whether an `if` takes it as true: it is not the zero of its type.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Value::Missing | Value::Nil => false,
            Value::Bool(value) => *value,
            Value::Int(value) | Value::Int64(value) | Value::Month(value) | Value::Weekday(value) => {
                *value != 0
            }
            Value::Uint8(value) => *value != 0,
            Value::Uint64(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(list) => !list.items().is_empty(),
            Value::Map(map) => map.len() > 0,
            Value::Time(_) | Value::Version(_) => true,
        }
    }

    /// An integer with a sign.
    pub(crate) fn signed(&self) -> Option<i64> {
        match self {
            Value::Int(value) | Value::Int64(value) | Value::Month(value) | Value::Weekday(value) => {
                Some(*value)
            }
            _ => None,
        }
    }

    /// An integer without a sign.
    pub(crate) fn unsigned(&self) -> Option<u64> {
        match self {
            Value::Uint8(value) => Some(u64::from(*value)),
            Value::Uint64(value) => Some(*value),
            _ => None,
        }
    }

    /// How deep lists are nested in it. Maps count from zero, because they change.
    fn depth(&self) -> usize {
        match self {
            Value::List(list) => list.depth(),
            _ => 0,
        }
    }
}

impl Value {
    /// The text that a type has by itself, where Go's has a method `String`.
    pub(crate) fn own_text(&self) -> Option<Vec<u8>> {
        match self {
            Value::Time(time) => Some(time.to_string().into_bytes()),
            Value::Version(version) => Some(version.to_string().into_bytes()),
            Value::Month(month) => Some(time::name(MONTHS, *month - 1).into_bytes()),
            Value::Weekday(day) => Some(time::name(WEEKDAYS, *day).into_bytes()),
            _ => None,
        }
    }
}
