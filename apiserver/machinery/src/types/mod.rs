//! The structure of built-in kinds as data. `types.txt` defines each type once. It is the source of the schemas for
//! decoding, merging and field ownership, of the protobuf messages, and of the OpenAPI components.
//!
//! Types and schemas are parsed at their first use: a type when it is first looked up, a schema when the first object
//! of its kind is written. They are kept for all servers of the process.

mod addresses;
mod checks;
mod difference;
mod go;
mod internal;
mod openapi;
mod parse;
mod schema;
mod text;
mod validate;

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

pub use addresses::{address_problem, cidr_problem};
pub use checks::{port_name, selector};
pub use go::{GoPlace, go_place};
pub use internal::{changes, same, shown};
pub use openapi::{components, openapi_name};
pub use schema::{LazySchema, zero_object};
pub use text::{escaped, go_text};
pub use validate::validate;

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldType {
    /// A string.
    Text,
    /// A string of the enumeration of that name ([`values`]).
    Enum(&'static str),
    /// An integer of 32 or 64 bits.
    Integer {
        /// Whether the integer has 64 bits.
        wide: bool,
    },
    /// A boolean.
    Boolean,
    /// Bytes, which are base64 in JSON.
    Bytes,
    /// The type `metav1.Time`.
    Time,
    /// The type `metav1.MicroTime`.
    MicroTime,
    /// The type `resource.Quantity`.
    Quantity,
    /// The type `intstr.IntOrString`.
    IntOrString,
    /// Any JSON (`runtime.RawExtension`).
    Raw,
    /// The type `metav1.FieldsV1`.
    FieldsV1,
    /// A list of strings that is a message on the wire (`ExtraValue`).
    Texts,
    /// The type of that name.
    Named(&'static str),
    /// A list with items of that type.
    List(Box<FieldType>),
    /// A map from strings to values of that type.
    Map(Box<FieldType>),
}

/// When Go's `encoding/json` encodes a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Always; nil is encoded as null.
    Always,
    /// Unless it is zero.
    NotZero,
    /// Unless it is nil.
    NotNil,
    /// Always; the field is a pointer, and nil is encoded as null.
    Nullable,
    /// The field has no name in JSON, and its own fields belong to the outer object.
    Inline,
}

/// A field of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The field number on the wire.
    pub number: u64,
    /// The name in JSON.
    pub name: &'static str,
    /// When the field is encoded.
    pub presence: Presence,
    /// The type of the field.
    pub ty: FieldType,
    /// Whether the field is a list of unique scalars.
    pub set: bool,
    /// The keys of a list of type `map`.
    pub keys: Vec<&'static str>,
    /// Whether the field has one owner as a whole.
    pub atomic: bool,
    /// Whether the parts of the field have separate owners although its type is atomic.
    pub granular: bool,
    /// The strategy of strategic merge patches.
    pub patch_strategy: Option<&'static str>,
    /// The merge key of strategic merge patches.
    pub patch_key: Option<&'static str>,
    /// The default as JSON.
    pub default: Option<&'static str>,
    /// Whether the API declares the field as required.
    pub required: bool,
}

/// A type with fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// The name of the type, for example `core.v1.PodSpec`.
    pub name: &'static str,
    /// Whether a value has one owner as a whole.
    pub atomic: bool,
    /// The fields in the order of declaration.
    pub fields: Vec<Field>,
}

const TEXT: &str = include_str!("types.txt");

const DEFAULTS: &str = include_str!("defaults.txt");

/// The text of one type, and its parsed form.
struct Entry {
    text: &'static str,
    parsed: OnceLock<Type>,
}

struct Index {
    types: BTreeMap<&'static str, Entry>,
    enums: BTreeMap<&'static str, &'static str>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index { types: BTreeMap::new(), enums: BTreeMap::new() };
    for (name, text) in parse::types(TEXT) {
        index.types.insert(name, Entry { text, parsed: OnceLock::new() });
    }
    index.enums.extend(parse::enums(TEXT));
    index
});

/// Returns the type of that name, for example `core.v1.PodSpec`, or `None` if it does not exist.
pub fn find(name: &str) -> Option<&'static Type> {
    let (name, entry) = INDEX.types.get_key_value(name)?;
    Some(entry.parsed.get_or_init(|| parse::one(name, entry.text)))
}

/// Returns the default of a field as JSON: the documented one, or else the one that kube-apiserver applies without
/// documenting it.
fn default_of(ty: &str, field: &Field) -> Option<&'static str> {
    static DEFAULT: LazyLock<BTreeMap<(&str, &str), &str>> = LazyLock::new(|| {
        let line = |line: &'static str| {
            let (ty, rest) = line.split_once(' ')?;
            let (field, json) = rest.split_once(' ')?;
            Some(((ty, field), json))
        };
        DEFAULTS.lines().filter(|text| !text.starts_with('#')).filter_map(line).collect()
    });
    field.default.or_else(|| DEFAULT.get(&(ty, field.name)).copied())
}

/// Returns the values of an enumeration in order.
pub fn values(name: &str) -> Vec<&'static str> {
    // Values are in quotes, because they may contain spaces.
    INDEX.enums.get(name).copied().unwrap_or_default().split('"').skip(1).step_by(2).collect()
}

/// Returns the name of the type of a kind, for example `core.v1.Pod`. The first part is the first label of the group.
pub fn name_of(group: &str, version: &str, kind: &str) -> String {
    let package = match group.split('.').next().unwrap_or_default() {
        "" => "core",
        // The Go package of this group is named after the server.
        "internal" => "apiserverinternal",
        label => label,
    };
    format!("{package}.{version}.{kind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(ty: &FieldType, check: &mut dyn FnMut(&FieldType)) {
        check(ty);
        if let FieldType::List(inner) | FieldType::Map(inner) = ty {
            named(inner, check);
        }
    }

    #[test]
    fn every_line_is_understood_and_every_name_is_there() {
        assert!(INDEX.types.len() > 400);
        for (name, entry) in &INDEX.types {
            let ty = find(name).unwrap();
            let lines = entry.text.lines().filter(|line| !line.starts_with("type ")).count();
            assert_eq!(ty.fields.len(), lines, "{name}");
            for field in &ty.fields {
                named(&field.ty, &mut |ty| match ty {
                    FieldType::Named(inner) => {
                        assert!(find(inner).is_some(), "{name}.{}: {inner}", field.name);
                    }
                    FieldType::Enum(inner) => assert!(!values(inner).is_empty(), "{name}.{}", field.name),
                    _ => {}
                });
                if let Some(default) = default_of(name, field) {
                    serde_json::from_str::<serde_json::Value>(default).unwrap();
                }
            }
        }
        for line in DEFAULTS.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ');
            let (name, field) = (words.next().unwrap(), words.next().unwrap());
            let ty = find(name).unwrap_or_else(|| panic!("{name}"));
            assert!(ty.fields.iter().any(|one| one.name == field), "{line}");
        }
    }
}
