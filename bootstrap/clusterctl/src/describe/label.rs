//! Names of nodes.

use serde_json::Value;

use super::table::{Cell, Colour, Paint};
use super::tree::{Content, Node};

/// The name as plain text, by which nodes are sorted.
pub(super) fn plain_name(node: &Node) -> String {
    let (before, name, behind) = name_parts(node);
    format!("{before}{name}{behind}")
}

/// The name as it is shown: `Machine default/one, v1.35.0`
pub(super) fn name(node: &Node, paint: Paint) -> Cell {
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

/// The text before the name, the name, and the text after it.
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

/// The plural of a kind: `Machines`
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
