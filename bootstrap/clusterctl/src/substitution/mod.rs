//! Variables in templates: `${NAME}`, with defaults, cases, parts, trimmed and replaced text.
//!
//! The forms and their corners are those of clusterctl 1.14, which behaves unlike a shell in places: every form with a
//! default means `:-`, and a form that it does not know leaves the value as it is. `tests/substitution.rs` holds recorded cases.

mod evaluate;
mod glob;
mod parse;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::{Error, Result};
use parse::{Node, Part};

/// Where values come from: the name as the template writes it.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Spaces inside the braces of a bare name are allowed.
#[expect(clippy::unwrap_used, reason = "a constant pattern, compiled by the tests")]
static SPACED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$\{[\t\n\f\r ]*([A-Za-z0-9_$]+)[\t\n\f\r ]*\}").unwrap());

/// The variables of a template, and the text of their defaults. `None` is a variable that must be set.
///
/// What counts is the first place that names a variable. Names inside of defaults do not count.
///
/// # Errors
/// A template that is none.
pub fn variables(template: &str) -> Result<BTreeMap<String, Option<String>>> {
    let template = without_spaces(template);
    let mut found = BTreeMap::new();
    for node in parse::parse(&template)? {
        if let Node::Expansion(expansion) = node {
            let text: String = expansion.arguments.iter().flatten().map(shown).collect();
            found.entry(expansion.name).or_insert_with(|| Some(text).filter(|text| !text.is_empty()));
        }
    }
    Ok(found)
}

/// The template with every variable replaced. It may end up as no UTF-8, since parts of values are counted in bytes.
///
/// # Errors
/// A template that is none; variables that must be set and are not, all of them by name.
pub fn process(template: &str, lookup: Lookup<'_>) -> Result<Vec<u8>> {
    let required = variables(template)?.into_iter().filter(|(_, default)| default.is_none());
    let missing: Vec<String> = required.map(|(name, _)| name).filter(|name| lookup(name).is_none()).collect();
    if !missing.is_empty() {
        return Err(Error::Template(format!(
            "value for variables [{}] is not set. Please set the value using os environment variables or the clusterctl config file",
            missing.join(", ")
        )));
    }
    expand(template, lookup)
}

/// The text with every variable replaced; what is not set is empty.
///
/// # Errors
/// A template that is none.
pub fn expand(template: &str, lookup: Lookup<'_>) -> Result<Vec<u8>> {
    evaluate::evaluate(&parse::parse(&without_spaces(template))?, lookup)
}

fn without_spaces(template: &str) -> String {
    SPACED.replace_all(template, "$${$1}").into_owned()
}

/// A part of an argument as `--list-variables` shows it.
fn shown(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Expansion(expansion) => format!("${{{}}}", expansion.name),
    }
}
