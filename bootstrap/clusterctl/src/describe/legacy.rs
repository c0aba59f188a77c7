//! Shows the tree with the conditions of v1beta1.

use chrono::{DateTime, Utc};

use super::conditions::Condition;
use super::label::name;
use super::messages;
use super::prefix;
use super::rows::{FILLER, age, ordered};
use super::table::{Cell, Colour, Paint};
use super::tree::{Content, Filter, Node};

/// The rows of the tree with the conditions of v1beta1.
pub(super) fn rows(tree: &Node, paint: Paint, now: DateTime<Utc>) -> Vec<[Cell; 6]> {
    let mut rows = Vec::new();
    node_rows(tree, "", paint, now, &mut rows);
    rows
}

fn node_rows(node: &Node, prefix: &str, paint: Paint, now: DateTime<Utc>, rows: &mut Vec<[Cell; 6]>) {
    let mut row = node.condition("Ready").map(|ready| condition_row(ready, paint, now)).unwrap_or_default();
    row[0] = paint.cell(Colour::Grey, prefix).and(name(node, paint));
    if let Content::Group(group) = &node.content {
        let shown = group.items.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if group.items.len() > 2 { ", ..." } else { "" };
        row[5] = paint.cell(Colour::Grey, &format!("See {shown}{more}"));
    }
    rows.push(row);
    let children = ordered(node);
    if node.filter != Filter::Nothing {
        let mut others: Vec<&Condition> = node.conditions.iter().filter(|one| one.name != "Ready").collect();
        others.sort_by(|a, b| a.name.cmp(&b.name));
        let pipe = if children.is_empty() { prefix::BLANK } else { prefix::PIPE };
        for (index, condition) in others.iter().enumerate() {
            let own = prefix::child(&format!("{prefix}{pipe}{FILLER}"), index + 1 == others.len());
            let mut row = condition_row(condition, paint, now);
            row[0] = paint.cell(Colour::Grey, &own).and(paint.cell(Colour::Cyan, &condition.name));
            rows.push(row);
        }
    }
    let count = children.len();
    for (index, child) in children.into_iter().enumerate() {
        node_rows(child, &prefix::child(prefix, index + 1 == count), paint, now, rows);
    }
}

fn condition_row(condition: &Condition, paint: Paint, now: DateTime<Utc>) -> [Cell; 6] {
    let colour = match (condition.status.as_str(), condition.severity.as_str()) {
        ("True", _) => Colour::Green,
        ("False" | "Unknown", "Error") => Colour::Red,
        ("False" | "Unknown", "Warning") => Colour::Yellow,
        ("False" | "Unknown", _) => Colour::White,
        _ => Colour::Grey,
    };
    [
        Cell::default(),
        paint.cell(colour, &condition.status),
        paint.cell(colour, &condition.severity),
        paint.cell(colour, &condition.reason),
        Cell::from(age(condition, now)),
        Cell::from(messages::cut(&condition.message)),
    ]
}
