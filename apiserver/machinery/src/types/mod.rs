//! The structure of built-in kinds, as data: `types.txt` holds each type once, and from it come the schemas that objects
//! are decoded, merged and owned by, the messages of protobuf bodies, and the components of OpenAPI documents.
//!
//! Nothing is read before somebody needs it: a type when it is first asked for, a schema when the first object of its
//! kind is written. What was read stays, for all servers of the process.

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

/// A type that a field has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldType {
    /// A text.
    Text,
    /// One of the texts of that enumeration ([`values`]).
    Enum(&'static str),
    /// An integer; of 64 bits, or of 32.
    Integer {
        /// Whether it has 64 bits.
        wide: bool,
    },
    /// A boolean.
    Boolean,
    /// Bytes, base64 in JSON.
    Bytes,
    /// `metav1.Time`
    Time,
    /// `metav1.MicroTime`
    MicroTime,
    /// `resource.Quantity`
    Quantity,
    /// `intstr.IntOrString`
    IntOrString,
    /// Any JSON (`runtime.RawExtension`).
    Raw,
    /// `metav1.FieldsV1`
    FieldsV1,
    /// A list of texts that is a message on the wire (`ExtraValue`).
    Texts,
    /// A type of that name.
    Named(&'static str),
    /// A list.
    List(Box<FieldType>),
    /// A map with texts as keys.
    Map(Box<FieldType>),
}

/// When a field is written, as Go's `encoding/json` does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Always; nil as null.
    Always,
    /// Unless it is zero.
    NotZero,
    /// Unless it is nil.
    NotNil,
    /// Always, a pointer: nil as null.
    Nullable,
    /// It has no name in JSON: its fields stand in the outer object.
    Inline,
}

/// A field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its number on the wire.
    pub number: u64,
    /// Its name in JSON.
    pub name: &'static str,
    /// When it is written.
    pub presence: Presence,
    /// What it holds.
    pub ty: FieldType,
    /// Whether it is a list of unique scalars.
    pub set: bool,
    /// The keys of a list of objects that merges by them.
    pub keys: Vec<&'static str>,
    /// Whether it has one owner as a whole.
    pub atomic: bool,
    /// Whether its parts have owners of their own although its type says otherwise.
    pub granular: bool,
    /// How a strategic merge patch merges it.
    pub patch_strategy: Option<&'static str>,
    /// By which field a strategic merge patch tells items apart.
    pub patch_key: Option<&'static str>,
    /// Its default, as JSON.
    pub default: Option<&'static str>,
    /// Whether the API calls it required.
    pub required: bool,
}

/// A type with fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// `core.v1.PodSpec`
    pub name: &'static str,
    /// Whether it has one owner as a whole.
    pub atomic: bool,
    /// In the order of declaration.
    pub fields: Vec<Field>,
}

const TEXT: &str = include_str!("types.txt");

const DEFAULTS: &str = include_str!("defaults.txt");

/// One type in the text, and what has been made of it.
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

/// The type of that name, `core.v1.PodSpec`.
pub fn find(name: &str) -> Option<&'static Type> {
    let (name, entry) = INDEX.types.get_key_value(name)?;
    Some(entry.parsed.get_or_init(|| parse::one(name, entry.text)))
}

/// The default of a field as JSON: the one that the API documents, else the one that it fills in all the same.
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

/// The values of an enumeration, in order.
pub fn values(name: &str) -> Vec<&'static str> {
    // Between each two quotes; a value may have spaces.
    INDEX.enums.get(name).copied().unwrap_or_default().split('"').skip(1).step_by(2).collect()
}

/// The name of the type of a kind: `core.v1.Pod`. Types are named by the first label of their group.
pub fn name_of(group: &str, version: &str, kind: &str) -> String {
    let package = match group.split('.').next().unwrap_or_default() {
        "" => "core",
        // Its package is named after the server.
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
