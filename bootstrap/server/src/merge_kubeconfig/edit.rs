//! Changes single entries in the text of a kubeconfig; all other bytes stay. Pure.
//!
//! A function returns `None` where the text is written in a way in which it cannot make the change. Who calls it compares what the new
//! text says with what it should say.

use std::ops::Range;

use serde_json::{Value, json};

use super::layout::{Content, Node, layout};

/// Puts an entry into a list, in place of the entry of the same name or behind the last one.
pub(super) fn set_entry(text: &str, list: &str, entry: &Value) -> Option<String> {
    let document = layout(text)?;
    let Some((key, value)) = document.field(list) else { return add_field(text, &document, list, entry) };
    let name = entry["name"].as_str()?;
    match &value.content {
        Content::List { items, is_flow: false } if !items.is_empty() => {
            let dash = value.column;
            let lines = block_item(entry, dash)?;
            match items.iter().find(|item| has_name(item, name)) {
                Some(item) => Some(replaced(text, block_lines(text, item)?, &lines)),
                None => Some(replaced(text, at(line_end(text, value.end)), &lines)),
            }
        }
        Content::List { items, is_flow: true } if is_flow_map(&document) || !items.is_empty() => {
            let json = entry.to_string();
            if let Some(item) = items.iter().find(|item| has_name(item, name)) {
                return Some(replaced(text, item.start..item.end, &json));
            }
            match items.last() {
                Some(last) => Some(replaced(text, at(last.end), &format!(", {json}"))),
                None => Some(replaced(text, value.start..value.end, &format!("[{json}]"))),
            }
        }
        Content::List { items, .. } if items.is_empty() => Some(begin_list(text, key, value, entry)?),
        _ if value.is_null() && is_flow_map(&document) => {
            Some(replaced(text, value.start..value.end, &format!("[{entry}]")))
        }
        _ if value.is_null() => begin_list(text, key, value, entry),
        _ => None,
    }
}

/// Removes the entry of a name from a list, if it is there.
pub(super) fn remove_entry(text: &str, list: &str, name: &str) -> Option<String> {
    let document = layout(text)?;
    let Some((key, value)) = document.field(list) else { return Some(text.to_owned()) };
    let Content::List { items, is_flow } = &value.content else { return Some(text.to_owned()) };
    let Some(index) = items.iter().position(|item| has_name(item, name)) else {
        return Some(text.to_owned());
    };
    let item = items.get(index)?;
    if *is_flow {
        let (before, after) = (index.checked_sub(1).and_then(|at| items.get(at)), items.get(index + 1));
        let gone = match (before, after) {
            (_, Some(after)) => item.start..after.start,
            (Some(before), None) => before.end..item.end,
            (None, None) => item.start..item.end,
        };
        return Some(replaced(text, gone, ""));
    }
    let without = replaced(text, block_lines(text, item)?, "");
    if items.len() > 1 {
        return Some(without);
    }
    let colon = key.end + without.get(key.end..)?.find(':')? + 1;
    Some(replaced(&without, at(colon), " []"))
}

/// Sets the current context.
pub(super) fn set_current_context(text: &str, name: &str) -> Option<String> {
    const KEY: &str = "current-context";
    let document = layout(text)?;
    let Some((_, value)) = document.field(KEY) else { return add_field(text, &document, KEY, &json!(name)) };
    let Content::Scalar { .. } = &value.content else { return None };
    let scalar = scalar(&document, &json!(name))?;
    let old = text.get(value.start..value.end)?;
    let space = if old.is_empty() && text[..value.start].ends_with(':') { " " } else { "" };
    let end = if old.ends_with('\n') { "\n" } else { "" };
    Some(replaced(text, value.start..value.end, &format!("{space}{scalar}{end}")))
}

/// Adds a field to the document: a list with one entry, or a text.
fn add_field(text: &str, document: &Node, key: &str, value: &Value) -> Option<String> {
    let is_list = value.is_object();
    match &document.content {
        Content::Map { fields, is_flow: true } => {
            let value = if is_list { json!([value]) } else { value.clone() };
            let field = format!("{}: {value}", json!(key));
            match fields.last() {
                Some((_, last)) => Some(replaced(text, at(last.end), &format!(", {field}"))),
                None => Some(replaced(text, document.start..document.end, &format!("{{{field}}}"))),
            }
        }
        Content::Map { fields, is_flow: false } => {
            let indent = " ".repeat(fields.first()?.0.column);
            let lines = match is_list {
                true => format!("{indent}{key}:\n{}", block_item(value, indent.len())?),
                false => format!("{indent}{key}: {}\n", scalar(document, value)?),
            };
            Some(replaced(text, at(line_end(text, document.end)), &lines))
        }
        _ if document.is_null() && document.start == text.len() => {
            let lines = match is_list {
                true => format!("{key}:\n{}", block_item(value, 0)?),
                false => format!("{key}: {}\n", scalar(document, value)?),
            };
            Some(replaced(text, at(text.len()), &lines))
        }
        _ => None,
    }
}

/// Writes the first entry of a list that is empty or null, in an object without braces.
fn begin_list(text: &str, key: &Node, value: &Node, entry: &Value) -> Option<String> {
    let colon = key.end + text.get(key.end..)?.find(':')? + 1;
    let without = replaced(text, colon..value.end.max(colon), "");
    Some(replaced(&without, at(line_end(&without, colon)), &block_item(entry, key.column)?))
}

/// Returns an entry as lines whose dash stands in the column `dash`.
fn block_item(entry: &Value, dash: usize) -> Option<String> {
    let yaml = machinery::yaml::write(entry).ok()?;
    let indent = " ".repeat(dash);
    let line =
        |(index, line): (usize, &str)| format!("{indent}{}{line}\n", if index == 0 { "- " } else { "  " });
    Some(yaml.lines().enumerate().map(line).collect())
}

fn scalar(document: &Node, value: &Value) -> Option<String> {
    match is_flow_map(document) {
        true => Some(value.to_string()),
        false => Some(machinery::yaml::write(value).ok()?.trim_end().to_owned()),
    }
}

fn is_flow_map(node: &Node) -> bool {
    matches!(node.content, Content::Map { is_flow: true, .. })
}

fn has_name(item: &Node, name: &str) -> bool {
    item.field("name").is_some_and(|(_, value)| value.is_text(name))
}

/// Returns the lines of an item of a list without brackets, from its dash.
fn block_lines(text: &str, item: &Node) -> Option<Range<usize>> {
    let dash = text.get(..item.start)?.rfind('-')?;
    let start = text.get(..dash)?.rfind('\n').map_or(0, |at| at + 1);
    Some(start..line_end(text, item.end))
}

/// Returns the beginning of the next line; the place itself if it is the beginning of a line.
fn line_end(text: &str, place: usize) -> usize {
    if text[..place].ends_with('\n') {
        return place;
    }
    text[place..].find('\n').map_or(text.len(), |at| place + at + 1)
}

fn at(place: usize) -> Range<usize> {
    place..place
}

/// Returns the text with other bytes in a range. Lines end as the other lines of the text do.
fn replaced(text: &str, range: Range<usize>, new: &str) -> String {
    let (before, after) = (&text[..range.start], &text[range.end..]);
    let needs_line = new.ends_with('\n') && !before.is_empty() && !before.ends_with('\n');
    let line = if needs_line { "\n" } else { "" };
    let new = format!("{line}{new}");
    let new = if text.contains("\r\n") { new.replace('\n', "\r\n") } else { new };
    format!("{before}{new}{after}")
}
