//! How objects differ, as lines of YAML.

use anyhow::Result;
use serde_json::Value;

/// Lines that are the same around those that differ.
const CONTEXT: usize = 3;
/// Pairs of lines that are compared. Objects with more are shown as a whole.
const PAIRS_MAX: usize = 4_000_000;

/// Returns the differences between two lists of objects, which are matched by kind and name; `None` if there are none.
pub fn of_objects(expected: &[Value], found: &[Value]) -> Result<Option<String>> {
    let key = |object: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        (
            text(&object["apiVersion"]),
            text(&object["kind"]),
            text(&metadata["namespace"]),
            text(&metadata["name"]),
        )
    };
    let mut report = String::new();
    for object in expected {
        match found.iter().find(|other| key(other) == key(object)) {
            None => report.push_str(&format!("- {} is missing\n", title(object))),
            Some(other) if other == object => {}
            Some(other) => {
                report.push_str(&format!("  {}\n", title(object)));
                report.push_str(&of_texts(&machinery::yaml::write(object)?, &machinery::yaml::write(other)?));
            }
        }
    }
    for object in found {
        if !expected.iter().any(|other| key(other) == key(object)) {
            report.push_str(&format!("+ {} is not expected\n", title(object)));
        }
    }
    Ok(Some(report).filter(|report| !report.is_empty()))
}

fn title(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

/// A line that is in both texts, or in one of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Both(&'a str),
    Expected(&'a str),
    Found(&'a str),
}

/// Returns the lines that differ, with some that are the same around them.
fn of_texts(expected: &str, found: &str) -> String {
    let lines = aligned(&expected.lines().collect::<Vec<_>>(), &found.lines().collect::<Vec<_>>());
    let differs = |line: &Line<'_>| !matches!(line, Line::Both(_));
    let mut report = String::new();
    let mut is_gap = false;
    for (index, line) in lines.iter().enumerate() {
        let around = index.saturating_sub(CONTEXT)..(index + CONTEXT + 1).min(lines.len());
        if !lines[around].iter().any(differs) {
            is_gap = true;
            continue;
        }
        if std::mem::take(&mut is_gap) {
            report.push_str("    ...\n");
        }
        let (mark, text) = match line {
            Line::Both(text) => (' ', text),
            Line::Expected(text) => ('-', text),
            Line::Found(text) => ('+', text),
        };
        report.push_str(&format!("{mark}   {text}\n"));
    }
    report
}

/// Aligns lines by their longest common subsequence.
fn aligned<'a>(expected: &[&'a str], found: &[&'a str]) -> Vec<Line<'a>> {
    let (rows, columns) = (expected.len(), found.len());
    if rows.saturating_mul(columns) > PAIRS_MAX {
        let expected = expected.iter().map(|line| Line::Expected(line));
        return expected.chain(found.iter().map(|line| Line::Found(line))).collect();
    }
    // The length of the longest common subsequence of what follows each pair of positions.
    let mut common = vec![vec![0u32; columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            common[row][column] = match expected[row] == found[column] {
                true => common[row + 1][column + 1] + 1,
                false => common[row + 1][column].max(common[row][column + 1]),
            };
        }
    }
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    while row < rows && column < columns {
        if expected[row] == found[column] {
            lines.push(Line::Both(expected[row]));
            (row, column) = (row + 1, column + 1);
        } else if common[row + 1][column] >= common[row][column + 1] {
            lines.push(Line::Expected(expected[row]));
            row += 1;
        } else {
            lines.push(Line::Found(found[column]));
            column += 1;
        }
    }
    lines.extend(expected[row..].iter().map(|line| Line::Expected(line)));
    lines.extend(found[column..].iter().map(|line| Line::Found(line)));
    lines
}
