//! All types by name. A type is parsed at its first use.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use super::parse;
use super::structure::{Field, Type};

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

/// Returns the names of all types.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    INDEX.types.keys().copied()
}

/// Reads types in the form of `types.txt`.
pub(crate) fn read(text: &'static str) -> impl Iterator<Item = (&'static str, Type)> {
    parse::types(text).map(|(name, text)| (name, parse::one(name, text)))
}

/// Returns the default of a field as JSON: the documented one, or else the one that kube-apiserver applies without
/// documenting it.
pub(super) fn default_of(ty: &str, field: &Field) -> Option<&'static str> {
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
