//! `Warning` headers.

use std::collections::HashSet;

use http::header::WARNING;
use http::{HeaderMap, HeaderValue};

use crate::limits;

/// Adds one header for each distinct warning, as kube-apiserver does: if they have more than
/// [`limits::WARNING_CHARACTERS`] together, each is cut, and the first ones that fit are sent.
pub fn add(headers: &mut HeaderMap, warnings: &[String]) {
    let mut seen = HashSet::new();
    let texts = || warnings.iter().map(String::as_str).filter(|text| !text.is_empty());
    let mut whole = Vec::new();
    let mut written = 0;
    for text in texts().filter(|text| seen.insert(*text)) {
        written += text.chars().count();
        if written > limits::WARNING_CHARACTERS {
            return cut(headers, texts());
        }
        whole.push(text);
    }
    for text in whole {
        append(headers, text);
    }
}

fn cut<'w>(headers: &mut HeaderMap, texts: impl Iterator<Item = &'w str>) {
    let mut seen = HashSet::new();
    let mut written = 0;
    for text in texts {
        if written >= limits::WARNING_CHARACTERS {
            return;
        }
        if !seen.insert(text) {
            continue;
        }
        let end = text.char_indices().nth(limits::CUT_WARNING_CHARACTERS).map_or(text.len(), |(at, _)| at);
        let text = &text[..end];
        written += text.chars().count();
        append(headers, text);
    }
}

fn append(headers: &mut HeaderMap, text: &str) {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let quoted = plain.replace('\\', "\\\\").replace('"', "\\\"");
    if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
        headers.append(WARNING, value);
    }
}
