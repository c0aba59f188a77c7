//! Sizes of the values that a rule reads.

use machinery::schema::Schema;
use machinery::schema::sizes::LONGEST_TEXT;

/// A range of sizes, in characters, bytes, items or entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
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
pub(crate) enum Place<'s> {
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
            Self::Value(schema, root) => schema.declared[usize::from(root)]?.max,
            Self::Text => LONGEST_TEXT,
            Self::Metadata | Self::Key => 0,
        };
        Some(Size { min: 0, max })
    }
}
