//! Type conversions.

use std::rc::Rc;

use machinery::{duration, go};

use super::show::show;
use crate::values::{Failure, Outcome, Val, no_overload, parse_timestamp};

pub(super) fn convert<'a>(to: &str, value: &Val<'a>) -> Outcome<'a> {
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
        ("bool", Val::Text(text)) => go::parse_bool(text).map(Val::Bool).map_or_else(parse_fails, Ok),
        ("bytes", Val::Text(text)) => Ok(Val::Bytes(Rc::from(text.as_bytes()))),
        ("duration", Val::Text(text)) => {
            duration::parse_nanoseconds(text).map(Val::Duration).map_or_else(parse_fails, Ok)
        }
        ("duration", Val::Int(n)) => Ok(Val::Duration(*n)),
        ("timestamp", Val::Text(text)) => {
            parse_timestamp(text).map(Val::Timestamp).map_or_else(parse_fails, Ok)
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
