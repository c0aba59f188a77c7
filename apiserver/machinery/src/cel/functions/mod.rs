//! The functions of CEL and of Kubernetes' CEL library.

pub(crate) mod format;
mod kubernetes;
mod lists;
mod strings;

use std::rc::Rc;

use base64::Engine as _;
use regex::Regex;

use super::eval::NO_OVERLOAD;
use super::time;
use super::value::{Failure, Outcome, Val};
use super::work;

/// Calls a function. If `member` is set, `args` begins with the receiver. `pattern` is the compiled form of a literal
/// pattern.
///
/// # Errors
/// cel-go's message; `no such overload` if the function does not accept the values.
pub fn call<'a>(name: &str, member: bool, args: &[Val<'a>], pattern: Option<&Regex>) -> Outcome<'a> {
    let found = core(name, args)
        .or_else(|| strings::call(name, member, args, pattern))
        .or_else(|| lists::call(name, args))
        .or_else(|| kubernetes::call(name, args))
        .or_else(|| times(name, args));
    found.unwrap_or_else(|| Err(no_overload(name, args, pattern.is_some())))
}

/// Returns the error for values that a function does not accept. It usually contains the name of the function and the
/// types of the values.
pub fn no_overload(name: &str, args: &[Val<'_>], compiled: bool) -> Failure {
    let nameless = matches!(name, "contains" | "startsWith" | "endsWith" | "matches" | "@in")
        || (compiled && matches!(name, "find" | "findAll"));
    // In cel-go, values of these types are receivers, whose errors do not name the function.
    let asked = matches!(args.first(), Some(Val::Text(_) | Val::Duration(_) | Val::Timestamp(_)));
    if nameless || (asked && matches!(name, "size" | "sort")) {
        return NO_OVERLOAD;
    }
    if matches!(name, "size" | "sort") {
        return format!("no such overload: {name}").into();
    }
    let types: Vec<&str> = args.iter().map(Val::type_name).collect();
    match name {
        "flatten" => format!("no such overload: {}.flatten({})", types[0], types[1..].join(", ")).into(),
        _ => format!("no such overload: {name}({})", types.join(", ")).into(),
    }
}

fn core<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(match (name, args) {
        ("size", [value]) => match value {
            Val::Text(text) => Ok(Val::Int(text.chars().count() as i64)),
            Val::Bytes(bytes) => Ok(Val::Int(bytes.len() as i64)),
            Val::Array(list, _) => Ok(Val::Int(list.len() as i64)),
            Val::List(list) => Ok(Val::Int(list.len() as i64)),
            Val::Object(map, _) => Ok(Val::Int(map.len() as i64)),
            Val::Map(map) => Ok(Val::Int(map.len() as i64)),
            _ => return None,
        },
        ("type", [value]) => Ok(Val::Type(value.type_name())),
        ("dyn", [value]) => Ok(value.clone()),
        ("int" | "uint" | "double" | "string" | "bool" | "bytes" | "duration" | "timestamp", [value]) => {
            convert(name, value)
        }
        ("hasValue", [Val::Optional(inner)]) => Ok(Val::Bool(inner.is_some())),
        ("value", [Val::Optional(inner)]) => match inner {
            Some(value) => Ok((**value).clone()),
            None => Err("optional.none() dereference".into()),
        },
        ("optional.of", [value]) => Ok(Val::some(value.clone())),
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(if is_zero(value) { Val::Optional(None) } else { Val::some(value.clone()) })
        }
        ("optional.unwrap" | "unwrapOpt", [list @ (Val::List(_) | Val::Array(..))]) => {
            let mut found = Vec::new();
            for item in list.items().unwrap_or_default() {
                match item {
                    Val::Optional(inner) => found.extend(inner.map(|value| (*value).clone())),
                    other => {
                        let kind = other.type_name();
                        return Some(Err(format!("value {kind} is not optional").into()));
                    }
                }
            }
            Ok(Val::list(found))
        }
        _ => return None,
    })
}

fn times<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let part = match args {
        [value] => time::part(name, value, None),
        [value @ Val::Timestamp(_), Val::Text(zone)] => time::part(name, value, Some(zone)),
        _ => None,
    };
    part.map(|part| part.map(Val::Int))
}

/// Decodes standard base64 with or without padding.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
    engine.decode(text.trim_end_matches('=')).ok()
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null => true,
        Val::Bool(flag) => !flag,
        Val::Int(n) | Val::Duration(n) => *n == 0,
        Val::Uint(n) => *n == 0,
        Val::Double(n) => *n == 0.0,
        Val::Text(text) => text.is_empty(),
        Val::Bytes(bytes) => bytes.is_empty(),
        other => matches!(core("size", std::slice::from_ref(other)), Some(Ok(Val::Int(0)))),
    }
}

fn convert<'a>(to: &str, value: &Val<'a>) -> Outcome<'a> {
    let range = |what: &'static str| -> Outcome<'a> { Err(Failure::Borrowed(what)) };
    let parse_fails = || -> Outcome<'a> {
        let to = match to {
            "duration" => "google.protobuf.Duration",
            "timestamp" => "google.protobuf.Timestamp",
            other => other,
        };
        Err(format!("type conversion error from 'string' to '{to}'").into())
    };
    match (to, value) {
        ("int", Val::Int(_))
        | ("uint", Val::Uint(_))
        | ("double", Val::Double(_))
        | ("string", Val::Text(_))
        | ("bool", Val::Bool(_))
        | ("bytes", Val::Bytes(_))
        | ("duration", Val::Duration(_))
        | ("timestamp", Val::Timestamp(_)) => Ok(value.clone()),
        ("int", Val::Uint(n)) => i64::try_from(*n).map(Val::Int).or_else(|_| range("integer overflow")),
        ("int", Val::Double(n)) if (-9.223_372_036_854_775e18..=9.223_372_036_854_775e18).contains(n) => {
            Ok(Val::Int(*n as i64))
        }
        ("int", Val::Double(_)) => range("integer overflow"),
        ("int", Val::Text(text)) => text.parse().map(Val::Int).or_else(|_| parse_fails()),
        ("int", Val::Timestamp(at)) => Ok(Val::Int(at.timestamp())),
        ("int", Val::Duration(nanos)) => Ok(Val::Int(*nanos)),
        ("uint", Val::Int(n)) => {
            u64::try_from(*n).map(Val::Uint).or_else(|_| range("unsigned integer overflow"))
        }
        ("uint", Val::Double(n)) if (0.0..1.8e19).contains(n) => Ok(Val::Uint(*n as u64)),
        ("uint", Val::Double(_)) => range("unsigned integer overflow"),
        ("uint", Val::Text(text)) => text.parse().map(Val::Uint).or_else(|_| parse_fails()),
        ("double", Val::Int(n)) => Ok(Val::Double(*n as f64)),
        ("double", Val::Uint(n)) => Ok(Val::Double(*n as f64)),
        ("double", Val::Text(text)) => text.parse().map(Val::Double).or_else(|_| parse_fails()),
        ("bool", Val::Text(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => parse_fails(),
        },
        ("bytes", Val::Text(text)) => Ok(Val::Bytes(Rc::from(text.as_bytes()))),
        ("duration", Val::Text(text)) => {
            time::parse_duration(text).map(Val::Duration).map_or_else(parse_fails, Ok)
        }
        ("duration", Val::Int(n)) => Ok(Val::Duration(*n)),
        ("timestamp", Val::Text(text)) => {
            time::parse_timestamp(text).map(Val::Timestamp).map_or_else(parse_fails, Ok)
        }
        ("timestamp", Val::Int(n)) => match chrono::DateTime::from_timestamp(*n, 0) {
            Some(at) => Ok(Val::Timestamp(at.fixed_offset())),
            None => range("timestamp overflow"),
        },
        ("string", Val::Bytes(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Val::text(text)),
            Err(_) => range("invalid UTF-8 in bytes, cannot convert to string"),
        },
        (
            "string",
            Val::Bool(_)
            | Val::Int(_)
            | Val::Uint(_)
            | Val::Double(_)
            | Val::Duration(_)
            | Val::Timestamp(_)
            | Val::Ip(_)
            | Val::Cidr(_),
        ) => Ok(Val::text(show(value))),
        _ => Err(no_overload(to, std::slice::from_ref(value), false)),
    }
}

/// Formats the value as `string()` and `%s` do.
///
/// Returns an empty text once the evaluation has exceeded its work limit, because a value can contain another one many
/// times.
pub fn show(value: &Val<'_>) -> String {
    if work::is_exceeded() {
        return String::new();
    }
    match value {
        Val::Null => "null".into(),
        Val::Bool(flag) => flag.to_string(),
        Val::Int(n) => n.to_string(),
        Val::Uint(n) => n.to_string(),
        Val::Double(n) => crate::schema::go_float(*n),
        Val::Text(text) => {
            work::text(text.len());
            text.to_string()
        }
        Val::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Val::Duration(nanos) => time::show_duration(*nanos),
        Val::Timestamp(at) => time::show_timestamp(at),
        Val::List(_) | Val::Array(..) => {
            let items: Vec<String> = value.items().unwrap_or_default().iter().map(show).collect();
            format!("[{}]", items.join(", "))
        }
        Val::Map(_) | Val::Object(..) => {
            let entries = value.entries().unwrap_or_default();
            let mut shown: Vec<String> =
                entries.iter().map(|(k, v)| format!("{}: {}", show(k), show(v))).collect();
            shown.sort();
            format!("{{{}}}", shown.join(", "))
        }
        Val::Optional(Some(inner)) => format!("optional({})", show(inner)),
        Val::Optional(None) => "optional.none()".into(),
        Val::Type(name) => (*name).to_owned(),
        Val::Ip(ip) => ip.to_string(),
        Val::Cidr(cidr) => format!("{}/{}", cidr.ip, cidr.bits),
        Val::Failed(why) => why.to_string(),
        Val::Quantity(_) | Val::Semver(_) | Val::Url(_) | Val::Format(_) => value.type_name().to_owned(),
    }
}
