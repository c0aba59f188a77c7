//! Siblings in the same state as one row.

use super::conditions::{Condition, same};
use super::tree::{Content, Filter, Node};

/// What a group has in common is in the conditions of its node; this is what is counted.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    /// Names, sorted.
    pub items: Vec<String>,
    pub available: usize,
    pub ready: usize,
    pub up_to_date: usize,
}

/// The conditions by which siblings are told apart.
const COMPARED: [&str; 3] = ["Available", "Ready", "UpToDate"];

/// Adds a node below `parent`, or to a group there.
pub(super) fn add(parent: &mut Node, node: Node) {
    if !parent.grouping {
        parent.children.push(node);
        return;
    }
    let alike = |sibling: &&mut Node| {
        let kind = match sibling.content {
            Content::Group(_) => sibling.kind.strip_suffix("Group").unwrap_or_default(),
            _ => sibling.kind.as_str(),
        };
        kind == node.kind && COMPARED.iter().all(|name| same(compared(sibling, name), compared(&node, name)))
    };
    match parent.children.iter_mut().find(alike) {
        None => parent.children.push(node),
        Some(sibling) => {
            if !matches!(sibling.content, Content::Group(_)) {
                *sibling = group_of(sibling);
            }
            join(sibling, &node);
        }
    }
}

/// Only Machines say whether they are up to date in a way that counts.
fn compared<'a>(node: &'a Node, name: &str) -> Option<&'a Condition> {
    let provided = matches!(node.content, Content::Provided(_) | Content::ControlPlane(..));
    node.condition(name).filter(|_| !(provided && name == "UpToDate"))
}

/// A group of one.
fn group_of(node: &Node) -> Node {
    let conditions = COMPARED.iter().filter_map(|name| compared(node, name)).cloned();
    let mut group = Node {
        kind: format!("{}Group", node.kind),
        namespace: node.namespace.clone(),
        name: String::new(),
        content: Content::Group(Group::default()),
        conditions: conditions.map(|condition| Condition { message: String::new(), ..condition }).collect(),
        filter: Filter::Nothing,
        order: node.order,
        grouping: false,
        children: Vec::new(),
    };
    join(&mut group, node);
    group
}

fn join(group: &mut Node, node: &Node) {
    if let (Some(own), Some(new)) =
        (group.conditions.iter_mut().find(|condition| condition.name == "Ready"), node.condition("Ready"))
    {
        own.since = own.since.into_iter().chain(new.since).min();
    }
    let Content::Group(group) = &mut group.content else { return };
    group.items.push(node.name.clone());
    group.items.sort();
    let holds = |name: &str| usize::from(compared(node, name).is_some_and(|one| one.status == "True"));
    group.available += holds("Available");
    group.ready += holds("Ready");
    group.up_to_date += holds("UpToDate");
}
