//! Field selectors, for example `metadata.name=a,status.phase!=Running`.

use crate::limits::MAX_SELECTOR_TERMS;

/// A parsed field selector. An object matches if all terms hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSelector {
    /// The terms, sorted by their text.
    pub terms: Vec<FieldTerm>,
}

/// One term of a field selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldTerm {
    /// The field, for example `metadata.name`.
    pub field: String,
    /// The value for the comparison, unescaped.
    pub value: String,
    /// Whether the field must have the value, or must not have it.
    pub equal: bool,
}

impl FieldSelector {
    /// Parses a selector such as `a=b,c==d,e!=f`. The error is a message of kube-apiserver.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = split_terms(text);
        if parts.len() > MAX_SELECTOR_TERMS {
            return Err(format!("invalid selector: there are more than {MAX_SELECTOR_TERMS} terms"));
        }
        parts.sort_unstable();
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let terms: Result<Vec<FieldTerm>, String> = parts
            .map(|part| {
                let (field, equal, value) = split_term(part)
                    .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
                Ok(FieldTerm { field: field.to_owned(), value: unescape(value)?, equal })
            })
            .collect();
        Ok(Self { terms: terms? })
    }

    /// Checks that each field is supported. The error is a message of kube-apiserver.
    pub fn check(&self, supported: impl Fn(&str) -> bool) -> Result<(), String> {
        match self.terms.iter().find(|term| !supported(&term.field)) {
            Some(term) => Err(format!("field label not supported: {}", term.field)),
            None => Ok(()),
        }
    }

    /// Returns whether the selector selects everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns whether an object matches. `value` returns its fields as text, empty for an absent field.
    pub fn matches(&self, value: impl Fn(&str) -> String) -> bool {
        self.terms.iter().all(|term| (value(&term.field) == term.value) == term.equal)
    }
}

/// Splits the text at commas that are not escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (position, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..position]);
                start = position + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

/// Splits a term at the first operator into the field, whether the values must be equal, and the value.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    term.char_indices().find_map(|(position, _)| {
        let (field, rest) = term.split_at(position);
        [("!=", false), ("==", true), ("=", true)]
            .into_iter()
            .find_map(|(operator, equal)| Some((field, equal, rest.strip_prefix(operator)?)))
    })
}

fn unescape(value: &str) -> Result<String, String> {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(next @ ('\\' | ',' | '=')) => text.push(next),
                Some(next) => {
                    return Err(format!("invalid field selector: invalid escape sequence: \\{next}"));
                }
                None => return Err("invalid field selector: invalid escape sequence: \\".to_owned()),
            },
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(character)
                ));
            }
            other => text.push(other),
        }
    }
    Ok(text)
}
