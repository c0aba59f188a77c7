//! `Warning` headers.

use std::collections::HashSet;

use http::header::WARNING;
use http::{HeaderMap, HeaderValue};

use crate::limits;

/// Adds one header for each distinct warning, as kube-apiserver does: if they have more than
/// [`limits::WARNING_CHARACTERS`] together, each is cut, and the first ones that fit are sent.
pub(crate) fn add(headers: &mut HeaderMap, warnings: &[String]) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(warnings: &[String]) -> Vec<usize> {
        let mut headers = HeaderMap::new();
        add(&mut headers, warnings);
        let text = |value: &HeaderValue| String::from_utf8(value.as_bytes().to_vec()).unwrap();
        let framed =
            |value| text(value).strip_prefix("299 - \"").unwrap().strip_suffix('"').unwrap().chars().count();
        headers.get_all(WARNING).iter().map(framed).collect()
    }

    #[test]
    fn warnings_below_at_and_above_the_limit() {
        let half = limits::WARNING_CHARACTERS / 2;
        let two = |more: usize| vec!["ä".repeat(half), "b".repeat(half + more)];
        assert_eq!(sizes(&two(0)), [half, half]);
        let cut = limits::CUT_WARNING_CHARACTERS;
        assert_eq!(sizes(&two(1)), [cut, cut]);
        // Duplicates do not count.
        assert_eq!(sizes(&[two(0), two(0), vec![String::new()]].concat()), [half, half]);
        let many: Vec<String> = (0..100).map(|at| format!("{at:03}{}", "x".repeat(cut))).collect();
        assert_eq!(sizes(&many), vec![cut; limits::WARNING_CHARACTERS / cut]);
        let short: Vec<String> = (0..60_000).map(|at| format!("unknown field \"f{at:05}\"")).collect();
        let sent = sizes(&short);
        assert_eq!(sent.len(), limits::WARNING_CHARACTERS.div_ceil("unknown field \"f00000\"".len()));
    }
}
