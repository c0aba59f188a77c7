//! Splits a text into several documents.

use serde_json::Value;

use super::{quoted, read};
use crate::{Error, Result};

/// The documents between `---` lines, which may contain a comment. If the text begins with such a line, the first document includes it.
pub fn split(text: &[u8]) -> Vec<Vec<u8>> {
    let mut documents = Vec::new();
    let mut current: Vec<u8> = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let behind = line.strip_prefix(b"---").map(<[u8]>::trim_ascii);
        if behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(b"#")) && !current.is_empty() {
            documents.push(std::mem::take(&mut current));
        } else {
            current.extend_from_slice(line);
        }
    }
    if !current.is_empty() {
        documents.push(current);
    }
    documents
}

/// Reads the objects in a text; empty documents are skipped.
///
/// # Errors
/// A document is not valid YAML or not a mapping.
pub fn objects(text: &[u8]) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for document in split(text) {
        let failed = |reason: String| {
            let place = ordinal(objects.len() + 1);
            Error::Template(format!(
                "failed to parse yaml: failed to unmarshal the {place} yaml document: {}: {reason}",
                quoted(&document)
            ))
        };
        match read(&document).map_err(|reason| failed(format!("error converting YAML to JSON: {reason}")))? {
            Value::Null => {}
            object @ Value::Object(_) => objects.push(object),
            other => {
                let found = match other {
                    Value::Array(_) => "array",
                    Value::String(_) => "string",
                    Value::Bool(_) => "bool",
                    _ => "number",
                };
                return Err(failed(format!(
                    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
                )));
            }
        }
    }
    Ok(objects)
}

/// Returns `1st`, `2nd` …
pub fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
