//! Variables in templates: `${NAME}`, with defaults, changes of case, substrings, trimming and replacement.
//!
//! The forms and their special cases are those of clusterctl 1.14, which differs from a shell in places: every operator with a default
//! works as `:-`, and an unknown form leaves the value unchanged. `tests/substitution.rs` uses recorded cases.

mod evaluate;
mod glob;
mod parse;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::{Error, Result};
use parse::{Node, Part};

/// Returns the value of a variable, by its name as written in the template.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// White space inside the braces is allowed if they contain only a name.
#[expect(clippy::unwrap_used, reason = "a constant pattern, compiled by the tests")]
static SPACED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$\{[\t\n\f\r ]*([A-Za-z0-9_$]+)[\t\n\f\r ]*\}").unwrap());

/// The variables of a template with the text of their defaults; a variable with `None` must be set.
///
/// If a variable occurs several times, the first place counts. Names inside defaults do not count.
///
/// # Errors
/// The template is invalid.
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

/// Replaces every variable in a template. The result may be invalid UTF-8, because substrings are counted in bytes.
///
/// # Errors
/// The template is invalid, or variables that must be set are not set; the error names all of these.
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

/// Replaces every variable in a text; a variable that is not set becomes empty.
///
/// # Errors
/// The template is invalid.
pub fn expand(template: &str, lookup: Lookup<'_>) -> Result<Vec<u8>> {
    evaluate::evaluate(&parse::parse(&without_spaces(template))?, lookup)
}

fn without_spaces(template: &str) -> String {
    SPACED.replace_all(template, "$${$1}").into_owned()
}

/// A part of an argument, in the form that `--list-variables` shows.
fn shown(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Expansion(expansion) => format!("${{{}}}", expansion.name),
    }
}
