//! Expected output: literal text with placeholders.
//!
//! | placeholder | stands for |
//! |---|---|
//! | `...` | any text of the line; a line of its own: any lines |
//! | `<age>` | what kubectl prints for a duration: `5s`, `2m30s` |
//! | `<uid>` | a UID |
//! | `<rv>`, `<n>` | a number |
//! | `<time>` | a point in time, as RFC 3339 or as kubectl describes it |
//! | `<name>` | a name |
//! | `<suffix>` | the five letters at the end of a generated name |
//! | `<server>`, `<dir>` | the server's `https://ADDRESS:PORT`, the directory of the session |
//!
//! Two or more spaces match two or more, since the width of a column depends on names and ages.

use anyhow::{Context, Result};
use regex::Regex;

const UID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const RFC3339: &str = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z";
const DESCRIBED: &str = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [-+]\d{4}";
const SERVER: &str = r"https://127\.0\.0\.1:\d+";

const PLACEHOLDERS: &[(&str, &str)] = &[
    ("...", ".*"),
    ("<age>", r"(?:\d+[smhdy])+"),
    ("<uid>", UID),
    ("<rv>", r"\d+"),
    ("<n>", r"\d+"),
    ("<name>", "[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?"),
    ("<suffix>", "[a-z0-9]{5}"),
    ("<server>", SERVER),
];

/// Returns whether the whole output matches the expected one.
///
/// # Errors
/// Fails if the expected output is too large for a pattern.
pub fn matches(expected: &str, printed: &str, directory: &str) -> Result<bool> {
    let mut text = String::from(r"\A");
    for line in expected.lines() {
        if line.trim() == "..." {
            text.push_str(r"(?:[^\n]*\n)*?");
        } else {
            text.push_str(&line_pattern(line, directory));
            text.push_str(r"[ \t]*\n");
        }
    }
    text.push_str(r"\z");
    let pattern = Regex::new(&text).with_context(|| format!("not a pattern: {expected}"))?;
    Ok(pattern.is_match(&terminated(printed)))
}

/// Adds the final line feed, which kubectl omits in some outputs.
fn terminated(printed: &str) -> String {
    let printed = printed.trim_end_matches('\n');
    if printed.is_empty() { String::new() } else { format!("{printed}\n") }
}

fn line_pattern(line: &str, directory: &str) -> String {
    let mut pattern = String::new();
    let mut rest = line.trim_end();
    while let Some(next) = rest.chars().next() {
        if let Some((length, found)) = placeholder(rest, directory) {
            pattern.push_str(&found);
            rest = &rest[length..];
            continue;
        }
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        if spaces > 1 && !pattern.is_empty() {
            pattern.push_str(" {2,}");
            rest = &rest[spaces..];
            continue;
        }
        pattern.push_str(&regex::escape(next.encode_utf8(&mut [0; 4])));
        rest = &rest[next.len_utf8()..];
    }
    pattern
}

fn placeholder(rest: &str, directory: &str) -> Option<(usize, String)> {
    if rest.starts_with("<time>") {
        return Some(("<time>".len(), format!("(?:{RFC3339}|{DESCRIBED})")));
    }
    if rest.starts_with("<dir>") {
        return Some(("<dir>".len(), regex::escape(directory)));
    }
    let found = PLACEHOLDERS.iter().find(|(name, _)| rest.starts_with(name));
    found.map(|(name, pattern)| (name.len(), (*pattern).to_owned()))
}

/// Turns the actual output into an expected one: lines that match the old expectation keep its text; in other
/// lines, values that differ between sessions become placeholders.
///
/// # Errors
/// The errors of [`matches`].
pub fn expectation(old: &str, printed: &str, directory: &str) -> Result<String> {
    let mut foreseen: Vec<&str> = old.lines().filter(|line| line.trim() != "...").collect();
    let mut lines = Vec::new();
    for line in printed.trim_end_matches('\n').lines() {
        let mut kept = None;
        for (index, old) in foreseen.iter().enumerate() {
            if matches(old, line, directory)? {
                kept = Some(index);
                break;
            }
        }
        match kept {
            Some(index) => lines.push(foreseen.drain(..=index).next_back().unwrap_or_default().to_owned()),
            None => lines.push(generalised(line, directory)?),
        }
    }
    Ok(lines.join("\n"))
}

fn generalised(line: &str, directory: &str) -> Result<String> {
    let line = line.trim_end().replace(directory, "<dir>");
    let times = format!("{RFC3339}|{DESCRIBED}");
    let rules = [
        (UID, "<uid>"),
        (times.as_str(), "<time>"),
        (SERVER, "<server>"),
        (r#"(resourceVersion"?: *)"\d+""#, "${1}\"<rv>\""),
        (r"(Resource Version: +)\d+", "${1}<rv>"),
        (r"(  )(?:\d+[smhdy])+( |$)", "${1}<age>${2}"),
    ];
    let mut text = line;
    for (pattern, placeholder) in rules {
        text = Regex::new(pattern)?.replace_all(&text, placeholder).into_owned();
    }
    Ok(text)
}
