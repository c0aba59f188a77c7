//! The text form of values.

use machinery::go::go_float;

use crate::values::{Val, show_duration, show_timestamp, work};

/// Formats the value as `string()` and `%s` do.
///
/// Returns an empty text once the evaluation has exceeded its work limit, because a value can contain another one many
/// times.
pub(crate) fn show(value: &Val<'_>) -> String {
    if work::is_exceeded() {
        return String::new();
    }
    match value {
        Val::Null => "null".into(),
        Val::Bool(flag) => flag.to_string(),
        Val::Int(n) => n.to_string(),
        Val::Uint(n) => n.to_string(),
        Val::Double(n) => go_float(*n),
        Val::Text(text) => {
            work::text(text.len());
            text.to_string()
        }
        Val::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Val::Duration(nanos) => show_duration(*nanos),
        Val::Timestamp(at) => show_timestamp(at),
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
        Val::Made(made) => made.name.to_string(),
        Val::Quantity(_) | Val::Semver(_) | Val::Url(_) | Val::Format(_) | Val::Authority(_) => {
            value.type_name().to_owned()
        }
    }
}
