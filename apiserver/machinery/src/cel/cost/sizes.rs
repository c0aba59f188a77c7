//! Sizes of values, limited by the schema or by the size of a request.

use crate::schema::{Kind, Schema};

/// Maximum size of a request, in bytes.
const REQUEST: u64 = 3 * 1024 * 1024;
/// Maximum size of a string without a limit in the schema: a request without the two quotes.
const LONGEST: u64 = REQUEST - 2;
/// Maximum size of a timestamp or a duration as JSON.
const TIME: u64 = 32;
/// Size of a date as JSON.
const DATE: u64 = 12;

/// A range of sizes, in characters, bytes, items or entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    pub(super) const ZERO: Self = Self::fixed(0);
    pub(super) const ONE: Self = Self::fixed(1);
    pub(super) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    pub(super) const fn fixed(size: u64) -> Self {
        Self { min: size, max: size }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// Returns the union of all sizes, or zero if there are none.
    pub(super) fn any(sizes: impl Iterator<Item = Self>) -> Self {
        sizes.reduce(Self::union).unwrap_or(Self::ZERO)
    }
}

/// The place of a value in the object that a rule validates.
#[derive(Debug, Clone, Copy)]
pub enum Place<'s> {
    /// A value of this schema. The flag is true for a whole object with `apiVersion`, `kind` and `metadata`.
    Value(&'s Schema, bool),
    /// A string that every object has, for example its name or kind.
    Text,
    /// The `metadata` of an object.
    Metadata,
    /// A key of a map.
    Key,
}

impl<'s> Place<'s> {
    /// Returns the place of a field of an object. Entries of maps are not fields.
    pub(super) fn field(self, property: &str) -> Option<Self> {
        match self {
            Self::Value(_, true) if matches!(property, "apiVersion" | "kind") => Some(Self::Text),
            Self::Value(_, true) if property == "metadata" => Some(Self::Metadata),
            Self::Value(schema, _) if schema.additional_properties.is_none() => {
                let child = schema.properties.get(property)?;
                Some(Self::Value(child, child.embedded_resource))
            }
            Self::Metadata => matches!(property, "name" | "generateName").then_some(Self::Text),
            _ => None,
        }
    }

    /// Returns the place of the items of a list or the values of a map.
    pub(super) fn item(self) -> Option<Self> {
        let Self::Value(schema, _) = self else { return None };
        let child = schema.items.as_deref().or(schema.additional_properties.as_deref())?;
        Some(Self::Value(child, child.embedded_resource))
    }

    /// Returns the place of the keys of a map.
    pub(super) fn key(self) -> Option<Self> {
        let Self::Value(schema, _) = self else { return None };
        schema.additional_properties.as_ref().map(|_| Self::Key)
    }

    /// Returns the size that the schema allows.
    pub(super) fn size(self) -> Option<Size> {
        let max = match self {
            Self::Value(schema, root) => declared(schema, root)?.max,
            Self::Text => LONGEST,
            Self::Metadata | Self::Key => 0,
        };
        Some(Size { min: 0, max })
    }
}

/// Returns how many values of this schema fit into a request.
pub fn occurrences(schema: &Schema, root: bool) -> u64 {
    declared(schema, root).map_or(u64::MAX, |declared| REQUEST / (declared.bytes + 1))
}

/// The sizes that a schema declares for its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Declared {
    /// Size of the smallest value as JSON, in bytes.
    bytes: u64,
    /// The maximum size, or 0 for values without a size.
    max: u64,
}

fn declared(schema: &Schema, root: bool) -> Option<Declared> {
    schema.declared[usize::from(root)]
}

/// Computes the sizes that a schema declares, for a plain value and for a whole object. The child schemas must have
/// theirs.
pub fn declare(schema: &Schema) -> [Option<Declared>; 2] {
    [false, true].map(|root| measure(schema, root))
}

fn measure(schema: &Schema, root: bool) -> Option<Declared> {
    let rules = &schema.validation;
    // `maxLength` counts characters, which have up to four bytes.
    let length = rules.max_length.map(|max| max.saturating_mul(4));
    if schema.int_or_string {
        return Some(Declared { bytes: 1, max: length.unwrap_or(LONGEST) });
    }
    Some(match schema.kind? {
        Kind::Boolean => Declared { bytes: 4, max: 0 },
        Kind::Integer | Kind::Number => Declared { bytes: 1, max: 0 },
        Kind::String => match rules.format.as_deref() {
            Some("byte") => Declared { bytes: 2, max: rules.max_length.unwrap_or(LONGEST) },
            Some("duration") => Declared { bytes: 3, max: TIME },
            Some("date") => Declared { bytes: DATE, max: DATE },
            Some("date-time") => Declared { bytes: 21, max: TIME },
            _ => Declared { bytes: 2, max: length.unwrap_or_else(|| longest(schema)) },
        },
        Kind::Array => {
            let items = schema.items.as_deref()?;
            let item = declared(items, items.embedded_resource)?;
            Declared { bytes: 2, max: rules.max_items.unwrap_or(LONGEST / (item.bytes + 1)) }
        }
        Kind::Object => match schema.additional_properties.as_deref() {
            Some(values) => {
                let value = declared(values, values.embedded_resource)?;
                Declared { bytes: 2, max: rules.max_properties.unwrap_or(LONGEST / (value.bytes + 6)) }
            }
            None => Declared { bytes: smallest(schema, root), max: 0 },
        },
    })
}

/// Returns the maximum size of a string without `maxLength`: the longest value of its enumeration, or a request.
fn longest(schema: &Schema) -> u64 {
    match schema.validation.allowed.as_deref() {
        None | Some([]) => LONGEST,
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
