//! Writes the rows of each node.

use chrono::{DateTime, Utc};
use machinery::table::human_duration;

use super::conditions::Condition;
use super::counters::counters;
use super::label::{name, plain_name};
use super::messages;
use super::prefix;
use super::table::{Cell, Colour, Paint};
use super::tree::{Content, Filter, Node};

/// Spaces between a node's line and its conditions.
pub(super) const FILLER: &str = "          ";

type Row = [Cell; 9];

/// The rows of a tree.
pub(super) fn rows(tree: &Node, paint: Paint, now: DateTime<Utc>) -> Vec<Row> {
    let mut writer = Writer { paint, now, rows: Vec::new() };
    writer.node(tree, "", true);
    writer.rows
}

struct Writer {
    paint: Paint,
    now: DateTime<Utc>,
    rows: Vec<Row>,
}

impl Writer {
    /// `last_of_all`: no row follows those of this node.
    fn node(&mut self, node: &Node, prefix: &str, last_of_all: bool) {
        let children = ordered(node);
        let mut row = self.counters(node);
        row[0] = self.paint.cell(Colour::Grey, prefix).and(name(node, self.paint));
        let mut further = Vec::new();
        if let Some(condition) = headline(node).filter(|_| node.filter == Filter::Nothing) {
            let ([status, reason, since], lines) = self.condition(condition);
            (row[5], row[6], row[7]) = (status, reason, since);
            further = lines;
        }
        if let Content::Group(group) = &node.content {
            let shown = group.items.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if group.items.len() > 2 { ", ..." } else { "" };
            further = vec![self.paint.cell(Colour::Grey, &format!("See {shown}{more}"))];
        }
        if !further.is_empty() {
            row[8] = further.remove(0);
        }
        self.rows.push(row);
        let behind = prefix::object_message(prefix, !children.is_empty(), last_of_all && children.is_empty());
        for line in further {
            self.further(&behind, line);
        }
        self.conditions(node, prefix);
        let count = children.len();
        for (index, child) in children.into_iter().enumerate() {
            let last = index + 1 == count;
            self.node(child, &prefix::child(prefix, last), last_of_all && last);
        }
    }

    fn further(&mut self, prefix: &str, line: Cell) {
        let mut row = Row::default();
        row[0] = self.paint.cell(Colour::Grey, prefix);
        row[8] = line;
        self.rows.push(row);
    }

    /// Returns status, reason and age, and the lines of the message (at least one).
    fn condition(&self, condition: &Condition) -> ([Cell; 3], Vec<Cell>) {
        let colour = match (condition.status.as_str(), condition.positive()) {
            ("True", true) | ("False", false) => Colour::Green,
            ("True", false) | ("False", true) => Colour::Red,
            ("Unknown", _) => Colour::Yellow,
            _ => Colour::Grey,
        };
        let lines = messages::lines(&condition.message).iter().map(Cell::from).collect();
        let status = self.paint.cell(colour, &condition.status);
        ([status, Cell::from(&condition.reason), Cell::from(age(condition, self.now))], lines)
    }

    /// Adds a row for each condition that must be shown.
    fn conditions(&mut self, node: &Node, prefix: &str) {
        let shown: Vec<&Condition> = match node.filter {
            Filter::Nothing => return,
            Filter::All => node.conditions.iter().collect(),
            Filter::NonZero => {
                let always = |one: &Condition| one.name == "Available" || one.name == "Ready";
                node.conditions.iter().filter(|one| always(one) || !one.is_zero()).collect()
            }
        };
        let pipe = if node.children.is_empty() { prefix::BLANK } else { prefix::PIPE };
        for (index, condition) in shown.iter().enumerate() {
            let own = prefix::child(&format!("{prefix}{pipe}{FILLER}"), index + 1 == shown.len());
            let ([status, reason, since], mut lines) = self.condition(condition);
            let mut row = Row::default();
            row[0] = self.paint.cell(Colour::Grey, &own).and(self.paint.cell(Colour::Cyan, &condition.name));
            (row[5], row[6], row[7]) = (status, reason, since);
            row[8] = lines.remove(0);
            self.rows.push(row);
            let behind = prefix::condition_message(&own);
            for line in lines {
                self.further(&behind, line);
            }
        }
    }

    /// A row with the columns of replicas filled in.
    fn counters(&self, node: &Node) -> Row {
        let mut row = Row::default();
        let [replicas, available, ready, up_to_date] = counters(node);
        row[1] = Cell::from(replicas);
        row[2] = Cell::from(available);
        row[3] = Cell::from(ready);
        row[4] = Cell::from(up_to_date);
        row
    }
}

pub(super) fn age(condition: &Condition, now: DateTime<Utc>) -> String {
    condition.since.map(|since| human_duration(now - since)).unwrap_or_default()
}

/// Children in the order of display: by order, then by name.
pub(super) fn ordered(node: &Node) -> Vec<&Node> {
    let mut children: Vec<&Node> = node.children.iter().collect();
    children
        .sort_by_cached_key(|child| (std::cmp::Reverse(child.order), plain_name(child), first_item(child)));
    children
}

fn first_item(node: &Node) -> String {
    match &node.content {
        Content::Group(group) => group.items.first().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

/// The condition that is shown in a node's own row.
fn headline(node: &Node) -> Option<&Condition> {
    match (&node.content, node.kind.as_str()) {
        (Content::Known(_), "Cluster" | "MachineDeployment") => node.condition("Available"),
        (Content::Known(_), "Machine") | (Content::Provided(_) | Content::Group(_), _) => {
            node.condition("Ready")
        }
        (Content::ControlPlane(..), _) => node.condition("Available").or_else(|| node.condition("Ready")),
        _ => None,
    }
}
