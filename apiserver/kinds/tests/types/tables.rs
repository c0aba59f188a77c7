//! The tables of types, defaults and checks: every line is understood, and every name is there.

use std::collections::BTreeMap;

use kinds::types::{FieldType, find, go_place, values};

const TYPES: &str = include_str!("../../src/types/types.txt");
const DEFAULTS: &str = include_str!("../../src/types/defaults.txt");
const CHECKS: &str = include_str!("../../src/types/checks.txt");

fn named(ty: &FieldType, check: &mut dyn FnMut(&FieldType)) {
    check(ty);
    if let FieldType::List(inner) | FieldType::Map(inner) = ty {
        named(inner, check);
    }
}

/// Returns the number of fields of each type.
fn declared() -> BTreeMap<&'static str, usize> {
    let mut types = BTreeMap::new();
    let mut current = None;
    for line in TYPES.lines() {
        if let Some(head) = line.strip_prefix("type ") {
            current = head.split(' ').next();
            types.insert(current.unwrap(), 0);
        } else if line.starts_with("enum ") {
            current = None;
        } else if let Some(name) = current {
            *types.get_mut(name).unwrap() += 1;
        }
    }
    types
}

#[test]
fn every_line_is_understood_and_every_name_is_there() {
    let types = declared();
    assert!(types.len() > 400);
    for (name, lines) in types {
        let ty = find(name).unwrap();
        assert_eq!(ty.fields.len(), lines, "{name}");
        for field in &ty.fields {
            named(&field.ty, &mut |ty| match ty {
                FieldType::Named(inner) => {
                    assert!(find(inner).is_some(), "{name}.{}: {inner}", field.name);
                }
                FieldType::Enum(inner) => assert!(!values(inner).is_empty(), "{name}.{}", field.name),
                _ => {}
            });
            if let Some(default) = field.default {
                serde_json::from_str::<serde_json::Value>(default).unwrap();
            }
        }
    }
    for line in DEFAULTS.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.splitn(3, ' ');
        let (name, field) = (words.next().unwrap(), words.next().unwrap());
        let ty = find(name).unwrap_or_else(|| panic!("{name}"));
        assert!(ty.fields.iter().any(|one| one.name == field), "{line}");
        serde_json::from_str::<serde_json::Value>(words.next().unwrap()).unwrap();
    }
}

#[test]
fn every_check_names_a_field_and_is_known() {
    let known = [
        "between",
        "at-least",
        "port",
        "percent",
        "labels",
        "selector",
        "required",
        "values",
        "free",
        "subdomain",
        "label",
        "label1035",
        "qualified",
        "value",
        "ip",
        "cidr",
    ];
    for line in CHECKS.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.splitn(4, ' ');
        let (ty, field, check) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        assert!(find(ty).is_some(), "no type {ty}");
        assert!(go_place(ty, &[field.to_owned()]).is_some(), "{ty} has no {field}");
        assert!(known.contains(&check.trim_end_matches('!')), "{check}");
    }
}
