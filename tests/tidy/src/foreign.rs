//! The rules of deny.toml that need no database: licenses, banned crates and sources. cargo-deny checks them as well, but takes longer to
//! compile than many machines have.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use serde_json::Value;

/// The only source of crates that are not part of the workspace.
pub const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The rules in deny.toml.
#[derive(Debug, Default)]
pub struct Rules {
    licenses: BTreeSet<String>,
    clarified: BTreeMap<String, String>,
    banned: BTreeSet<String>,
}

/// Reads deny.toml.
pub fn rules(deny: &toml::Table) -> Rules {
    let list = |section: &str, key: &str| {
        deny.get(section).and_then(|section| section.get(key)?.as_array()).cloned().unwrap_or_default()
    };
    let text = |table: &toml::Value, key: &str| table.get(key)?.as_str().map(str::to_owned);
    Rules {
        licenses: list("licenses", "allow")
            .iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
        clarified: list("licenses", "clarify")
            .iter()
            .filter_map(|table| Some((text(table, "crate")?, text(table, "expression")?)))
            .collect(),
        banned: list("bans", "deny").iter().filter_map(|table| text(table, "crate")).collect(),
    }
}

/// Returns what is wrong with the crates in the output of `cargo metadata`.
pub fn violations(rules: &Rules, metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter(|package| !package["source"].is_null())
        .flat_map(|package| of_crate(rules, package))
        .collect()
}

fn of_crate(rules: &Rules, package: &Value) -> Vec<String> {
    let field = |key: &str| package[key].as_str().unwrap_or_default();
    let (name, source) = (field("name"), field("source"));
    let license = rules.clarified.get(name).map_or(field("license"), String::as_str);
    let mut found = Vec::new();
    if !is_allowed(license, &rules.licenses) {
        found.push(format!("{name}: the license {license:?} is not allowed by deny.toml"));
    }
    if rules.banned.contains(name) {
        found.push(format!("{name} is banned by deny.toml"));
    }
    if source != REGISTRY {
        found.push(format!("{name} comes from {source}, not from crates.io"));
    }
    found
}

/// Returns whether somebody who accepts only `allowed` may use what has this SPDX expression. A `/` means OR, as in old manifests.
pub fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    any(&mut words, allowed) && words.next().is_none()
}

fn any<'w>(words: &mut Peekable<impl Iterator<Item = &'w str>>, allowed: &BTreeSet<String>) -> bool {
    let mut result = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        result |= all(words, allowed);
    }
    result
}

fn all<'w>(words: &mut Peekable<impl Iterator<Item = &'w str>>, allowed: &BTreeSet<String>) -> bool {
    let mut result = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        result &= one(words, allowed);
    }
    result
}

fn one<'w>(words: &mut Peekable<impl Iterator<Item = &'w str>>, allowed: &BTreeSet<String>) -> bool {
    match words.next() {
        Some("(") => {
            let mut inner = Vec::new();
            let mut depth = 1;
            for word in words.by_ref() {
                depth += i32::from(word == "(") - i32::from(word == ")");
                if depth == 0 {
                    break;
                }
                inner.push(word);
            }
            depth == 0 && is_allowed(&inner.join(" "), allowed)
        }
        Some(name) if words.next_if_eq(&"WITH").is_some() => {
            words.next().is_some_and(|exception| allowed.contains(&format!("{name} WITH {exception}")))
        }
        Some(name) => allowed.contains(name),
        None => false,
    }
}
