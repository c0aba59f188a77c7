//! Decoding of YAML documents to JSON values. Aliases and depth are limited. Duplicate keys are reported, and the last
//! one wins.

use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, Options};

use super::document::{Decoded, Format, LONG_PATHS, number};
use crate::limits::{MAX_DEPTH, MAX_PATHS_TEXT, MAX_YAML_ALIASES, MAX_YAML_NODES, MAX_YAML_TEXT};

/// Decodes the first YAML document that is not empty. The error is a message with the line.
pub fn yaml(bytes: &[u8]) -> Result<Decoded, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("yaml: invalid UTF-8: {error}"))?;
    if text.starts_with('\t') {
        return Err("yaml: found character that cannot start any token".to_owned());
    }
    let first = split(text).into_iter().find(|(_, document)| !is_blank(document));
    first.map_or_else(
        || Ok(Decoded { value: Value::Null, problems: Vec::new(), format: Format::Yaml }),
        |(line, document)| decode(document, line),
    )
}

/// Decodes all documents of a YAML text that are not empty, each with its first line (from 1). The error is a message
/// with the line in the whole text.
pub fn yaml_documents(text: &str) -> Result<Vec<(usize, Decoded)>, String> {
    yaml_each(text).collect()
}

/// Decodes the documents of [`yaml_documents`] one after the other, for callers that limit what all of them cost
/// together.
pub fn yaml_each(text: &str) -> impl Iterator<Item = Result<(usize, Decoded), String>> {
    let documents = split(text).into_iter().filter(|(_, document)| !is_blank(document));
    documents.map(|(line, document)| Ok((line, decode(document, line)?)))
}

/// Splits the text at `---` lines. Returns the first line and the text of each document.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut documents = Vec::new();
    let (mut start, mut first_line, mut position) = (0, 1, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let end = position + line.len();
        let rest = line.strip_prefix("---");
        if rest.is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#')) {
            documents.push((first_line, &text[start..position]));
            (start, first_line) = (end, index + 2);
        }
        position = end;
    }
    documents.push((first_line, &text[start..]));
    documents
}

fn is_blank(document: &str) -> bool {
    document.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

fn options(duplicate_keys: DuplicateKeyPolicy) -> Options {
    let budget = serde_saphyr::budget! {
        max_depth: MAX_DEPTH,
        flow_nesting_limit: MAX_DEPTH,
        max_total_scalar_bytes: MAX_YAML_TEXT,
        max_aliases: MAX_YAML_ALIASES,
        enforce_alias_anchor_ratio: false,
        max_nodes: MAX_YAML_NODES,
    };
    serde_saphyr::options! { budget: budget, duplicate_keys: duplicate_keys }
}

fn decode(document: &str, first_line: usize) -> Result<Decoded, String> {
    let read = |policy| serde_saphyr::from_str_with_options::<Value>(document, options(policy));
    let line_of = |error: &serde_saphyr::Error| {
        let line = error.location().map_or(1, |location| usize::try_from(location.line()).unwrap_or(1));
        (line, line + first_line - 1)
    };
    let mut value = read(DuplicateKeyPolicy::LastWins).map_err(|error| {
        let message = error.without_snippet().to_string();
        let message = message.lines().next().unwrap_or_default();
        super::yaml_words::syntax_error(message, document, line_of(&error).1, first_line)
    })?;
    normalise(&mut value, 0, &mut 0)?;
    let problems = match read(DuplicateKeyPolicy::Error) {
        Ok(_) => Vec::new(),
        Err(error) => {
            let (line, shown) = line_of(&error);
            let text = document.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            let key = text.trim_start_matches([' ', '-']).split(':').next().unwrap_or_default();
            let key = key.trim_matches(|c| "\"' ".contains(c));
            vec![format!("line {shown}: key {key:?} already set in map")]
        }
    };
    Ok(Decoded { value, problems, format: Format::Yaml })
}

/// Normalizes numbers as for JSON bodies. `length` is the number of bytes of the names above the value, and `lengths`
/// sums it up over all values.
fn normalise(value: &mut Value, length: usize, lengths: &mut usize) -> Result<(), String> {
    *lengths += length;
    if *lengths > MAX_PATHS_TEXT {
        return Err(format!("yaml: {LONG_PATHS}"));
    }
    match value {
        Value::Number(found) if !found.is_i64() => *value = number(found.as_f64().unwrap_or_default()),
        Value::Array(items) => items.iter_mut().try_for_each(|item| normalise(item, length, lengths))?,
        Value::Object(map) => {
            map.iter_mut().try_for_each(|(name, value)| normalise(value, length + name.len(), lengths))?;
        }
        _ => {}
    }
    Ok(())
}
