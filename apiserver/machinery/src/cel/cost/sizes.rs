//! Sizes of values: what a schema allows, and what fits into a request.

use crate::schema::{Kind, Schema};

/// The largest request.
const REQUEST: u64 = 3 * 1024 * 1024;
/// A string without a limit: what fits between the quotes of a request.
const LONGEST: u64 = REQUEST - 2;
/// The longest point in time, and the longest duration, as JSON.
const TIME: u64 = 32;
/// A date as JSON.
const DATE: u64 = 12;

/// Characters, bytes, items or entries: between so many and so many.
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

    /// What each of these can be; nothing when there are none.
    pub(super) fn any(sizes: impl Iterator<Item = Self>) -> Self {
        sizes.reduce(Self::union).unwrap_or(Self::ZERO)
    }
}

/// Where a value stands in the object that a rule sees.
#[derive(Debug, Clone, Copy)]
pub enum Place<'s> {
    /// A value of this schema; whether it is a whole object.
    Value(&'s Schema, bool),
    /// A string that every object has: its name, kind and so on.
    Text,
    /// `metadata` of an object.
    Metadata,
    /// A key of a map.
    Key,
}

impl<'s> Place<'s> {
    /// A field of an object. Entries of maps are no fields.
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

    /// An item of a list, or a value of a map.
    pub(super) fn item(self) -> Option<Self> {
        let Self::Value(schema, _) = self else { return None };
        let child = schema.items.as_deref().or(schema.additional_properties.as_deref())?;
        Some(Self::Value(child, child.embedded_resource))
    }

    /// A key of a map.
    pub(super) fn key(self) -> Option<Self> {
        let Self::Value(schema, _) = self else { return None };
        schema.additional_properties.as_ref().map(|_| Self::Key)
    }

    /// The size that the schema allows.
    pub(super) fn size(self) -> Option<Size> {
        let max = match self {
            Self::Value(schema, root) => declared(schema, root)?.max,
            Self::Text => LONGEST,
            Self::Metadata | Self::Key => 0,
        };
        Some(Size { min: 0, max })
    }
}

/// How many values of this schema fit into a request.
pub fn occurrences(schema: &Schema, root: bool) -> u64 {
    declared(schema, root).map_or(u64::MAX, |declared| REQUEST / (declared.bytes + 1))
}

/// What a schema says about the size of its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Declared {
    /// Of the smallest value as JSON.
    bytes: u64,
    /// The largest size; 0 for what has none.
    max: u64,
}

fn declared(schema: &Schema, root: bool) -> Option<Declared> {
    schema.declared[usize::from(root)]
}

/// What the schema says, for a value and for a whole object; those below are known already.
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

/// A string without `maxLength` is one of an enumeration, or as long as a request.
fn longest(schema: &Schema) -> u64 {
    match schema.validation.allowed.as_deref() {
        None | Some([]) => LONGEST,
        Some(allowed) => {
            allowed.iter().filter_map(|value| value.as_str()).map(|text| text.len() as u64).max().unwrap_or(0)
        }
    }
}

/// An object with nothing but its required fields; what the server defaults need not be sent.
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
