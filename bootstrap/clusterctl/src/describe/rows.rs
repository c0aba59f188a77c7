//! What is said of each node.

use chrono::{DateTime, Utc};
use machinery::table::human_duration;
use serde_json::Value;

use super::conditions::Condition;
use super::messages;
use super::prefix;
use super::table::{Cell, Colour, Paint};
use super::tree::{Content, Filter, Node};

/// Spaces between a node's line and its conditions.
const FILLER: &str = "          ";

type Row = [Cell; 9];

/// The rows of a tree.
pub(super) fn rows(tree: &Node, paint: Paint, now: DateTime<Utc>) -> Vec<Row> {
    let mut writer = Writer { paint, now, rows: Vec::new() };
    writer.node(tree, "", true);
    writer.rows
}

/// The rows of a tree with the conditions of v1beta1.
pub(super) fn legacy(tree: &Node, paint: Paint, now: DateTime<Utc>) -> Vec<[Cell; 6]> {
    let mut rows = Vec::new();
    legacy_node(tree, "", paint, now, &mut rows);
    rows
}

struct Writer {
    paint: Paint,
    now: DateTime<Utc>,
    rows: Vec<Row>,
}

impl Writer {
    /// `last_of_all`: no row comes behind those of this node.
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

    /// Status, reason and age; the lines of the message, one at least.
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

    /// A row for each condition that is to be shown.
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

    /// The columns of replicas.
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

fn age(condition: &Condition, now: DateTime<Utc>) -> String {
    condition.since.map(|since| human_duration(now - since)).unwrap_or_default()
}

/// Children as they are shown: by order, then by name.
fn ordered(node: &Node) -> Vec<&Node> {
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

/// The condition that stands in a node's own row.
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

/// Replicas, and how many of them are available, ready and up to date.
fn counters(node: &Node) -> [String; 4] {
    let none = || [const { String::new() }; 4];
    let number = |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    let shown = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
    let holds =
        |name: &str| usize::from(node.condition(name).is_some_and(|one| one.status == "True")).to_string();
    match (&node.content, node.kind.as_str()) {
        (Content::Known(object), "Cluster") => {
            let sum = |field: &str| {
                let of = |part: &str| number(object, &format!("/status/{part}/{field}"));
                match (of("controlPlane"), of("workers")) {
                    (None, None) => None,
                    (a, b) => Some(a.unwrap_or_default() + b.unwrap_or_default()),
                }
            };
            let replicas = match (sum("replicas"), sum("desiredReplicas")) {
                (None, None) => String::new(),
                (now, desired) => format!("{}/{}", now.unwrap_or_default(), desired.unwrap_or_default()),
            };
            [
                replicas,
                shown(sum("availableReplicas")),
                shown(sum("readyReplicas")),
                shown(sum("upToDateReplicas")),
            ]
        }
        (Content::Known(_), "Machine") => {
            ["1".to_owned(), holds("Available"), holds("Ready"), holds("UpToDate")]
        }
        (Content::Known(object), "MachineDeployment" | "MachineSet") => {
            let replicas = number(object, "/spec/replicas").map(|desired| {
                format!("{}/{desired}", number(object, "/status/replicas").unwrap_or_default())
            });
            let of = |field: &str| shown(number(object, &format!("/status/{field}")));
            [
                replicas.unwrap_or_default(),
                of("availableReplicas"),
                of("readyReplicas"),
                of("upToDateReplicas"),
            ]
        }
        (Content::ControlPlane(object, contract), _) => {
            let replicas = match (number(object, "/status/replicas"), number(object, "/spec/replicas")) {
                (Some(now), Some(desired)) => format!("{now}/{desired}"),
                _ => String::new(),
            };
            let up_to_date = if contract == "v1beta1" { "updatedReplicas" } else { "upToDateReplicas" };
            let of = |field: &str| shown(number(object, &format!("/status/{field}")));
            [replicas, of("availableReplicas"), of("readyReplicas"), of(up_to_date)]
        }
        (Content::Group(group), _) => [
            String::new(),
            group.available.to_string(),
            group.ready.to_string(),
            group.up_to_date.to_string(),
        ],
        _ => none(),
    }
}

fn plain_name(node: &Node) -> String {
    let (before, name, behind) = name_parts(node);
    format!("{before}{name}{behind}")
}

/// `Machine default/one, v1.35.0`
fn name(node: &Node, paint: Paint) -> Cell {
    let (before, name, behind) = name_parts(node);
    match node.content {
        Content::Title(_) => Cell::from(name),
        Content::Group(_) => paint.cell(Colour::BoldWhite, &name),
        _ => {
            let (deleted, kind) = match before.strip_prefix(DELETED) {
                Some(kind) => (paint.cell(Colour::Red, DELETED), kind),
                None => (Cell::default(), before.as_str()),
            };
            deleted.and(Cell::from(kind)).and(paint.cell(Colour::Bold, &name)).and(Cell::from(behind))
        }
    }
}

const DELETED: &str = "!! DELETED !!";

/// What stands before the name, the name, and what stands behind it.
fn name_parts(node: &Node) -> (String, String, String) {
    match &node.content {
        Content::Title(title) => return (String::new(), title.clone(), String::new()),
        Content::Group(group) => {
            let kind = node.kind.strip_suffix("Group").unwrap_or_default();
            return (String::new(), format!("{} {}...", group.items.len(), plural(kind)), String::new());
        }
        _ => {}
    }
    let deleting = node.object().is_some_and(|object| {
        object["metadata"].get("deletionTimestamp").is_some_and(|time| !time.is_null())
    });
    let before = format!("{}{} ", if deleting { format!("{DELETED} ") } else { String::new() }, node.kind);
    let name = if node.namespace.is_empty() {
        node.name.clone()
    } else {
        format!("{}/{}", node.namespace, node.name)
    };
    (before, name, version(node).map(|version| format!(", {version}")).unwrap_or_default())
}

/// `Machines`
fn plural(kind: &str) -> String {
    let lower = engine::contract::plural(kind);
    let same = lower.chars().zip(kind.chars()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
    let (own, rest) = (kind.chars().take(same), lower.chars().skip(same));
    own.chain(rest).collect()
}

fn version(node: &Node) -> Option<String> {
    let pointer = match (&node.content, node.kind.as_str()) {
        (Content::Known(object), "Cluster") => {
            object.pointer("/spec/topology/classRef/name")?;
            "/spec/topology/version"
        }
        (Content::Known(_), "MachineDeployment" | "MachineSet" | "MachinePool") => {
            "/spec/template/spec/version"
        }
        (Content::Known(_), "Machine") => "/spec/version",
        (Content::ControlPlane(object, _), _) => {
            return object.pointer("/spec/version").and_then(Value::as_str).map(str::to_owned);
        }
        _ => return None,
    };
    let found = node.object().and_then(|object| object.pointer(pointer)).and_then(Value::as_str);
    Some(found.unwrap_or_default().to_owned())
}

fn legacy_node(node: &Node, prefix: &str, paint: Paint, now: DateTime<Utc>, rows: &mut Vec<[Cell; 6]>) {
    let mut row =
        node.condition("Ready").map(|ready| legacy_condition(ready, paint, now)).unwrap_or_default();
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
            let mut row = legacy_condition(condition, paint, now);
            row[0] = paint.cell(Colour::Grey, &own).and(paint.cell(Colour::Cyan, &condition.name));
            rows.push(row);
        }
    }
    let count = children.len();
    for (index, child) in children.into_iter().enumerate() {
        legacy_node(child, &prefix::child(prefix, index + 1 == count), paint, now, rows);
    }
}

fn legacy_condition(condition: &Condition, paint: Paint, now: DateTime<Utc>) -> [Cell; 6] {
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
