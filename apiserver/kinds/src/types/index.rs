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

#[cfg(test)]
mod tests {
    use super::super::structure::FieldType;
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
