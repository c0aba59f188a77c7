//! Values at runtime. Objects and lists of the validated object are borrowed and read lazily with their schema, so only
//! the parts that a rule reads are converted.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::rc::Rc;

use chrono::{DateTime, FixedOffset};
use serde_json::{Map, Value};

use super::net::Cidr;
use super::quantity::Quantity;
use super::semver::Semver;
use super::url::Url;
use super::work;
use crate::schema::{Kind, ListType, Schema};

/// A value of CEL.
#[derive(Debug, Clone)]
pub enum Val<'a> {
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
    List(Rc<Vec<Val<'a>>>),
    /// A map that the expression created, in order of insertion.
    Map(Rc<Vec<(Val<'a>, Val<'a>)>>),
    /// A list of the validated object, with its schema.
    Array(&'a [Value], Option<&'a Schema>),
    /// A map or an object of the validated object, with its schema.
    Object(&'a Map<String, Value>, Option<&'a Schema>),
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
    /// A named expression of a program that failed to evaluate. Expressions that use it fail, too.
    Failed(Rc<str>),
}

/// The reason why an evaluation failed, as cel-go's message.
pub type Failure = Cow<'static, str>;

/// The result of an evaluation.
pub type Outcome<'a> = Result<Val<'a>, Failure>;

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
        Val::List(Rc::new(items))
    }

    /// Returns an optional with a value.
    pub fn some(value: Val<'a>) -> Val<'a> {
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
            Val::Optional(_) => "optional_type",
            Val::Type(_) => "type",
            Val::Quantity(_) => "kubernetes.Quantity",
            Val::Semver(_) => "kubernetes.Semver",
            Val::Ip(_) => "net.IP",
            Val::Cidr(_) => "net.CIDR",
            Val::Url(_) => "kubernetes.URL",
            Val::Format(_) => "kubernetes.NamedFormat",
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
            Val::Quantity(_) | Val::Semver(_) | Val::Ip(_) | Val::Cidr(_) | Val::Url(_) | Val::Format(_)
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

    fn list_type(&self) -> Option<(ListType, &'a Schema)> {
        match self {
            Val::Array(_, Some(schema)) => schema.list_type.map(|kind| (kind, *schema)),
            _ => None,
        }
    }

    /// Compares as CEL does: numbers by value across types, and sets and list maps regardless of order.
    pub fn equals(&self, other: &Val<'_>) -> bool {
        if work::is_exceeded() {
            return false;
        }
        work::count(1);
        match (self, other) {
            (Val::Null, Val::Null) => true,
            (Val::Bool(a), Val::Bool(b)) => a == b,
            (Val::Int(_) | Val::Uint(_) | Val::Double(_), Val::Int(_) | Val::Uint(_) | Val::Double(_)) => {
                number_order(self, other) == Some(Ordering::Equal)
            }
            (Val::Text(a), Val::Text(b)) => {
                work::text(a.len().min(b.len()));
                a == b
            }
            (Val::Bytes(a), Val::Bytes(b)) => {
                work::text(a.len().min(b.len()));
                a == b
            }
            (Val::Duration(a), Val::Duration(b)) => a == b,
            (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
            (Val::Array(a, Some(s)), Val::Array(b, Some(t))) if std::ptr::eq(*s, *t) && same_list(a, b) => {
                true
            }
            (Val::Object(a, _), Val::Object(b, _)) if std::ptr::eq(*a, *b) => true,
            (Val::Object(a, schema), Val::Object(b, other)) => {
                a.len() == b.len()
                    && a.iter().all(|(key, value)| {
                        let (ours, theirs) = (child(*schema, key), child(*other, key));
                        b.get(key).is_some_and(|found| Val::of(value, ours).equals(&Val::of(found, theirs)))
                    })
            }
            (Val::List(_) | Val::Array(..), Val::List(_) | Val::Array(..)) => self.equal_lists(other),
            (Val::Map(_) | Val::Object(..), Val::Map(_) | Val::Object(..)) => {
                let (Some(a), Some(b)) = (self.entries(), other.entries()) else { return false };
                a.len() == b.len()
                    && a.iter().all(|(k, v)| b.iter().any(|(k2, v2)| k.equals(k2) && v.equals(v2)))
            }
            (Val::Optional(a), Val::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.equals(b),
                (None, None) => true,
                _ => false,
            },
            (Val::Type(a), Val::Type(b)) => a == b,
            (Val::Quantity(a), Val::Quantity(b)) => a.compare(b) == Ordering::Equal,
            (Val::Semver(a), Val::Semver(b)) => a.compare(b) == Ordering::Equal,
            (Val::Ip(a), Val::Ip(b)) => a == b,
            (Val::Cidr(a), Val::Cidr(b)) => a == b,
            (Val::Url(a), Val::Url(b)) => a == b,
            (Val::Format(a), Val::Format(b)) => a == b,
            _ => false,
        }
    }

    fn equal_lists(&self, other: &Val<'_>) -> bool {
        let (Some(a), Some(b)) = (self.items(), other.items()) else { return false };
        if a.len() != b.len() {
            return false;
        }
        let unordered = [self.list_type().map(|(kind, _)| kind), other.list_type().map(|(kind, _)| kind)];
        if unordered.iter().any(|kind| matches!(kind, Some(ListType::Set | ListType::Map))) {
            return a.iter().all(|item| b.iter().any(|found| item.equals(found)));
        }
        a.iter().zip(&b).all(|(a, b)| a.equals(b))
    }

    /// Evaluates `a + b` of lists: the union of sets, the merge of list maps, otherwise the concatenation.
    pub fn concat(&self, other: &Val<'a>) -> Option<Val<'a>> {
        let (mut items, more) = (self.items()?, other.items()?);
        match self.list_type() {
            Some((ListType::Set, _)) => {
                for item in more {
                    if !items.iter().any(|found| found.equals(&item)) {
                        items.push(item);
                    }
                }
            }
            Some((ListType::Map, schema)) => {
                for item in more {
                    let same = |found: &Val<'a>| {
                        schema.list_map_keys.iter().all(|key| {
                            let key = Val::text(key.clone());
                            match (found.get(&key), item.get(&key)) {
                                (Some(a), Some(b)) => a.equals(&b),
                                (None, None) => true,
                                _ => false,
                            }
                        })
                    };
                    match items.iter().position(same) {
                        Some(at) => items[at] = item,
                        None => items.push(item),
                    }
                }
            }
            _ => items.extend(more),
        }
        Some(Val::list(items))
    }

    /// Compares two values, or returns `None` if they have no order.
    pub fn order(&self, other: &Val<'_>) -> Option<Ordering> {
        match (self, other) {
            (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
            (Val::Text(a), Val::Text(b)) => Some(a.cmp(b)),
            (Val::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
            (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
            (Val::Timestamp(a), Val::Timestamp(b)) => Some(a.cmp(b)),
            _ => number_order(self, other),
        }
    }
}

/// Returns whether two lists are the same JSON.
fn same_list(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

fn same(a: &Value, b: &Value) -> bool {
    if work::is_exceeded() {
        return false;
    }
    work::count(1);
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => same_list(a, b),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((key, a), (other, b))| key == other && same(a, b))
        }
        (Value::String(a), Value::String(b)) => {
            work::text(a.len().min(b.len()));
            a == b
        }
        _ => a == b,
    }
}

fn formatted<'a>(text: &'a str, schema: Option<&Schema>) -> Val<'a> {
    let plain = || Val::Text(Cow::Borrowed(text));
    let Some(schema) = schema.filter(|schema| schema.kind == Some(Kind::String)) else { return plain() };
    match schema.validation.format.as_deref() {
        Some("date-time") => super::time::parse_timestamp(text).map_or_else(plain, Val::Timestamp),
        Some("date") => {
            super::time::parse_timestamp(&format!("{text}T00:00:00Z")).map_or_else(plain, Val::Timestamp)
        }
        Some("duration") => super::time::parse_openapi_duration(text).map_or_else(plain, Val::Duration),
        Some("byte") => {
            super::functions::decode_base64(text).map_or_else(plain, |bytes| Val::Bytes(bytes.into()))
        }
        _ => plain(),
    }
}

/// Returns the schema of the value of a key.
pub fn child<'a>(schema: Option<&'a Schema>, key: &str) -> Option<&'a Schema> {
    let schema = schema?;
    schema.child(key)
}

fn number_order(a: &Val<'_>, b: &Val<'_>) -> Option<Ordering> {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
        (Val::Int(a), Val::Uint(b)) => Some(u64::try_from(*a).map_or(Ordering::Less, |a| a.cmp(b))),
        (Val::Uint(a), Val::Int(b)) => Some(u64::try_from(*b).map_or(Ordering::Greater, |b| a.cmp(&b))),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Double(a), Val::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Int(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Double(a), Val::Uint(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Uint(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        _ => None,
    }
}
