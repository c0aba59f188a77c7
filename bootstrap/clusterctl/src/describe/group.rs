//! Combines siblings in the same state in one row.

use super::conditions::{Condition, same};
use super::tree::{Content, Filter, Node};

/// The counters of a group. The state that its members have in common is in the conditions of its node.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    /// Names, sorted.
    pub items: Vec<String>,
    pub available: usize,
    pub ready: usize,
    pub up_to_date: usize,
}

/// Siblings are grouped if these conditions are equal.
const COMPARED: [&str; 3] = ["Available", "Ready", "UpToDate"];

/// Adds a node to `parent`, or to a group of its children.
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

/// `UpToDate` counts for Cluster API's own kinds only, not for those of providers.
fn compared<'a>(node: &'a Node, name: &str) -> Option<&'a Condition> {
    let provided = matches!(node.content, Content::Provided(_) | Content::ControlPlane(..));
    node.condition(name).filter(|_| !(provided && name == "UpToDate"))
}

/// Makes a group of one node.
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
