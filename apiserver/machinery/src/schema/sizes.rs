//! Sizes of the values of a schema, limited by the schema or by the size of a request.

use super::structural::{Declared, Kind, Schema};

/// Maximum size of a request, in bytes.
const REQUEST: u64 = 3 * 1024 * 1024;
/// Maximum size of a string without a limit in the schema: a request without the two quotes.
pub const LONGEST_TEXT: u64 = REQUEST - 2;
/// Maximum size of a timestamp or a duration as JSON.
const TIME: u64 = 32;
/// Size of a date as JSON.
const DATE: u64 = 12;

/// Returns how many values of this schema fit into a request.
pub fn occurrences(schema: &Schema, root: bool) -> u64 {
    declared(schema, root).map_or(u64::MAX, |declared| REQUEST / (declared.bytes + 1))
}

fn declared(schema: &Schema, root: bool) -> Option<Declared> {
    schema.declared[usize::from(root)]
}

/// Computes the sizes that a schema declares, for a plain value and for a whole object. The child schemas must have
/// theirs.
pub(super) fn declare(schema: &Schema) -> [Option<Declared>; 2] {
    [false, true].map(|root| measure(schema, root))
}

fn measure(schema: &Schema, root: bool) -> Option<Declared> {
    let rules = &schema.validation;
    // `maxLength` counts characters, which have up to four bytes.
    let length = rules.max_length.map(|max| max.saturating_mul(4));
    if schema.int_or_string {
        return Some(Declared { bytes: 1, max: length.unwrap_or(LONGEST_TEXT) });
    }
    Some(match schema.kind? {
        Kind::Boolean => Declared { bytes: 4, max: 0 },
        Kind::Integer | Kind::Number => Declared { bytes: 1, max: 0 },
        Kind::String => match rules.format.as_deref() {
            Some("byte") => Declared { bytes: 2, max: rules.max_length.unwrap_or(LONGEST_TEXT) },
            Some("duration") => Declared { bytes: 3, max: TIME },
            Some("date") => Declared { bytes: DATE, max: DATE },
            Some("date-time") => Declared { bytes: 21, max: TIME },
            _ => Declared { bytes: 2, max: length.unwrap_or_else(|| longest(schema)) },
        },
        Kind::Array => {
            let items = schema.items.as_deref()?;
            let item = declared(items, items.embedded_resource)?;
            Declared { bytes: 2, max: rules.max_items.unwrap_or(LONGEST_TEXT / (item.bytes + 1)) }
        }
        Kind::Object => match schema.additional_properties.as_deref() {
            Some(values) => {
                let value = declared(values, values.embedded_resource)?;
                Declared { bytes: 2, max: rules.max_properties.unwrap_or(LONGEST_TEXT / (value.bytes + 6)) }
            }
            None => Declared { bytes: smallest(schema, root), max: 0 },
        },
    })
}

/// Returns the maximum size of a string without `maxLength`: the longest value of its enumeration, or a request.
fn longest(schema: &Schema) -> u64 {
    match schema.validation.allowed.as_deref() {
        None | Some([]) => LONGEST_TEXT,
        Some(allowed) => {
            allowed.iter().filter_map(|value| value.as_str()).map(|text| text.len() as u64).max().unwrap_or(0)
        }
    }
}

/// Returns the size of an object with its required fields only. Clients need not send fields that the server defaults.
fn smallest(schema: &Schema, root: bool) -> u64 {
    let own = |name: &str| root && matches!(name, "apiVersion" | "kind" | "metadata");
    let required = schema.validation.required.iter().collect::<std::collections::BTreeSet<_>>();
    let fields = required.into_iter().filter_map(|name| {
        if own(name) {
            return Some(name.len() as u64 + 2 + 4);
        }
        let child = schema.properties.get(name).filter(|child| child.default.is_none())?;
        Some(name.len() as u64 + declared(child, child.embedded_resource)?.bytes + 4)
    });
    2 + fields.sum::<u64>()
}
