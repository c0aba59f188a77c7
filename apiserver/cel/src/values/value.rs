//! Values at runtime. Objects and lists of the validated object are borrowed and read lazily with their schema, so only
//! the parts that a rule reads are converted.

use std::borrow::Cow;
use std::rc::Rc;

use base64::Engine as _;
use chrono::{DateTime, FixedOffset};
use machinery::duration;
use machinery::quantity::Quantity;
use machinery::schema::{Kind, Schema};
use machinery::url::Url;
use serde_json::{Map, Value};

use super::addresses::Cidr;
use super::authority::Authority;
use super::made::Made;
use super::nested::Nested;
use super::semver::Semver;
use super::timestamp::parse_timestamp;
use super::work;
use crate::limits::MAX_CEL_DEPTH;

/// A value of CEL.
#[derive(Debug, Clone)]
pub(crate) enum Val<'a> {
    /// The value `null`.
    Null,
    /// A value of type `bool`.
    Bool(bool),
    /// A value of type `int`.
    Int(i64),
    /// A value of type `uint`.
    Uint(u64),
    /// A value of type `double`.
    Double(f64),
    /// A value of type `string`.
    Text(Cow<'a, str>),
    /// A value of type `bytes`.
    Bytes(Rc<[u8]>),
    /// A duration in nanoseconds.
    Duration(i64),
    /// A timestamp in the time zone in which it was written.
    Timestamp(DateTime<FixedOffset>),
    /// A list that the expression created.
    List(Rc<Nested<Vec<Val<'a>>>>),
    /// A map that the expression created, in order of insertion.
    Map(Rc<Nested<Vec<(Val<'a>, Val<'a>)>>>),
    /// A list of the validated object, with its schema.
    Array(&'a [Value], Option<&'a Schema>),
    /// A map or an object of the validated object, with its schema.
    Object(&'a Map<String, Value>, Option<&'a Schema>),
    /// An object that the expression created by the name of its type.
    Made(Rc<Made<'a>>),
    /// An optional, with its value if it has one.
    Optional(Option<Rc<Val<'a>>>),
    /// A type by its name.
    Type(&'static str),
    /// The result of `quantity('1Gi')`.
    Quantity(Rc<Quantity>),
    /// The result of `semver('1.2.3')`.
    Semver(Rc<Semver>),
    /// The result of `ip('::1')`.
    Ip(std::net::IpAddr),
    /// The result of `cidr('10.0.0.0/8')`.
    Cidr(Cidr),
    /// The result of `url('https://x')`.
    Url(Rc<Url>),
    /// A named format such as `format.dns1123Label()`.
    Format(&'static str),
    /// A value of the authorization library.
    Authority(Rc<Authority<'a>>),
    /// A named expression of a program that failed to evaluate. Expressions that use it fail, too.
    Failed(Rc<str>),
}

impl<'a> Val<'a> {
    /// Converts a part of the object according to its schema.
    pub fn of(value: &'a Value, schema: Option<&'a Schema>) -> Val<'a> {
        match value {
            Value::Null => Val::Null,
            Value::Bool(flag) => Val::Bool(*flag),
            Value::Number(number) => {
                let double = schema.is_some_and(|schema| schema.kind == Some(Kind::Number));
                match number.as_i64() {
                    Some(int) if !double => Val::Int(int),
                    _ => {
                        let float = number.as_f64().unwrap_or(f64::NAN);
                        let int = schema.is_some_and(|schema| schema.kind == Some(Kind::Integer));
                        if int && float.fract() == 0.0 { Val::Int(float as i64) } else { Val::Double(float) }
                    }
                }
            }
            Value::String(text) => formatted(text, schema),
            Value::Array(list) => Val::Array(list, schema),
            Value::Object(map) => Val::Object(map, schema),
        }
    }

    /// Returns a string value.
    pub fn text(text: impl Into<String>) -> Val<'a> {
        Val::Text(Cow::Owned(text.into()))
    }

    /// Returns a list value.
    pub fn list(items: Vec<Val<'a>>) -> Val<'a> {
        let below = items.iter().map(Val::height).max();
        Val::List(Rc::new(Nested::above(below, items)))
    }

    /// Returns a map value.
    pub fn map(entries: Vec<(Val<'a>, Val<'a>)>) -> Val<'a> {
        Val::Map(Rc::new(Nested::above(Val::highest(&entries), entries)))
    }

    /// Returns an optional with a value.
    pub fn some(value: Val<'a>) -> Val<'a> {
        if value.height() >= MAX_CEL_DEPTH {
            work::exceed();
            return Val::Optional(None);
        }
        Val::Optional(Some(Rc::new(value)))
    }

    /// Returns the name of the value's type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Val::Null => "null_type",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::Uint(_) => "uint",
            Val::Double(_) => "double",
            Val::Text(_) => "string",
            Val::Bytes(_) => "bytes",
            Val::Duration(_) => "google.protobuf.Duration",
            Val::Timestamp(_) => "google.protobuf.Timestamp",
            Val::List(_) | Val::Array(..) => "list",
            Val::Map(_) | Val::Object(..) => "map",
            Val::Made(made) => made.type_name(),
            Val::Optional(_) => "optional_type",
            Val::Type(_) => "type",
            Val::Quantity(_) => "kubernetes.Quantity",
            Val::Semver(_) => "kubernetes.Semver",
            Val::Ip(_) => "net.IP",
            Val::Cidr(_) => "net.CIDR",
            Val::Url(_) => "kubernetes.URL",
            Val::Format(_) => "kubernetes.NamedFormat",
            Val::Authority(authority) => authority.type_name(),
            Val::Failed(_) => "error",
        }
    }

    /// Counts the work of a value that a function created.
    pub fn count_made(&self) {
        match self {
            Val::Text(text) => work::text(text.len()),
            Val::Bytes(bytes) => work::text(bytes.len()),
            Val::List(items) => work::count(items.len()),
            _ => {}
        }
    }

    /// Returns whether the type belongs to Kubernetes' CEL library.
    pub fn is_own(&self) -> bool {
        matches!(
            self,
            Val::Quantity(_)
                | Val::Semver(_)
                | Val::Ip(_)
                | Val::Cidr(_)
                | Val::Url(_)
                | Val::Format(_)
                | Val::Authority(_)
        )
    }

    /// Returns the items of a list, or an empty list once the evaluation has exceeded its work limit.
    pub fn items(&self) -> Option<Vec<Val<'a>>> {
        match self {
            Val::List(_) | Val::Array(..) if work::is_exceeded() => Some(Vec::new()),
            Val::List(items) => {
                work::count(items.len() + 1);
                Some(items.to_vec())
            }
            Val::Array(list, schema) => {
                work::count(list.len() + 1);
                let items = schema.and_then(|schema| schema.items.as_deref());
                Some(list.iter().map(|value| Val::of(value, items)).collect())
            }
            _ => None,
        }
    }

    /// Returns the entries of a map, or an empty list once the evaluation has exceeded its work limit.
    pub fn entries(&self) -> Option<Vec<(Val<'a>, Val<'a>)>> {
        match self {
            Val::Map(_) | Val::Object(..) if work::is_exceeded() => Some(Vec::new()),
            Val::Map(entries) => {
                work::count(entries.len() + 1);
                Some(entries.to_vec())
            }
            Val::Object(map, schema) => {
                work::count(map.len() + 1);
                let entry =
                    |(key, value)| (Val::Text(Cow::Borrowed(key)), Val::of(value, child(*schema, key)));
                Some(
                    map.iter()
                        .map(|(key, value): (&'a String, &'a Value)| entry((key.as_str(), value)))
                        .collect(),
                )
            }
            _ => None,
        }
    }

    /// Returns the value of a key, or `None` if the key is absent or the value is not a map.
    pub fn get(&self, key: &Val<'a>) -> Option<Val<'a>> {
        match (self, key) {
            (Val::Map(entries), key) => {
                entries.iter().find(|(found, _)| found.equals(key)).map(|(_, value)| value.clone())
            }
            (Val::Object(map, schema), Val::Text(key)) => {
                map.get(&**key).map(|value| Val::of(value, child(*schema, key)))
            }
            _ => None,
        }
    }
}

fn formatted<'a>(text: &'a str, schema: Option<&Schema>) -> Val<'a> {
    let plain = || Val::Text(Cow::Borrowed(text));
    let Some(schema) = schema.filter(|schema| schema.kind == Some(Kind::String)) else { return plain() };
    match schema.validation.format.as_deref() {
        Some("date-time") => parse_timestamp(text).map_or_else(plain, Val::Timestamp),
        Some("date") => parse_timestamp(&format!("{text}T00:00:00Z")).map_or_else(plain, Val::Timestamp),
        Some("duration") => duration::parse_openapi(text).map_or_else(plain, Val::Duration),
        Some("byte") => decode_base64(text).map_or_else(plain, |bytes| Val::Bytes(bytes.into())),
        _ => plain(),
    }
}

/// Returns the schema of the value of a key.
pub(crate) fn child<'a>(schema: Option<&'a Schema>, key: &str) -> Option<&'a Schema> {
    let schema = schema?;
    schema.child(key)
}

/// Decodes standard base64 with or without padding.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
    engine.decode(text.trim_end_matches('=')).ok()
}
