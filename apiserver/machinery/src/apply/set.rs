//! Sets of field paths and their `fieldsV1` form.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::path::PathElement;
use super::types::Type;
use crate::limits::MAX_DEPTH;

/// A set of paths as a tree.
///
/// Invariant: each node is a member or has children.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FieldSet {
    nodes: BTreeMap<PathElement, Node>,
}

/// A node of the tree for one path element.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    /// Whether the path that ends at this node is in the set.
    pub member: bool,
    /// The paths below this node.
    pub children: FieldSet,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl FieldSet {
    /// Returns whether the set has no path.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds `path`. The empty path is never a member.
    pub fn insert(&mut self, path: &[PathElement]) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut set = self;
        for element in parents {
            set = &mut set.nodes.entry(element.clone()).or_default().children;
        }
        set.nodes.entry(last.clone()).or_default().member = true;
    }

    /// Adds a path of field names.
    pub fn insert_fields(&mut self, path: &[&str]) {
        let path: Vec<PathElement> = path.iter().map(|name| PathElement::field(name)).collect();
        self.insert(&path);
    }

    /// Removes a path of field names, but not the paths below it.
    pub fn remove_field(&mut self, path: &[&str]) {
        self.remove_at(path, &|node| node.member = false);
    }

    /// Removes a path of field names and all paths below it.
    pub fn remove_fields(&mut self, path: &[&str]) {
        self.remove_at(path, &|node| *node = Node::default());
    }

    fn remove_at(&mut self, path: &[&str], remove: &dyn Fn(&mut Node)) {
        let Some((first, rest)) = path.split_first() else { return };
        let element = PathElement::field(first);
        let Some(node) = self.nodes.get_mut(&element) else { return };
        match rest {
            [] => remove(node),
            rest => node.children.remove_at(rest, remove),
        }
        if node.is_empty() {
            self.nodes.remove(&element);
        }
    }

    /// Returns the nodes in order.
    pub fn nodes(&self) -> impl Iterator<Item = (&PathElement, &Node)> {
        self.nodes.iter()
    }

    /// Returns the node of `element`.
    pub fn node(&self, element: &PathElement) -> Option<&Node> {
        self.nodes.get(element)
    }

    /// Replaces the node of `element`, or removes it if `node` is empty.
    pub fn set_node(&mut self, element: PathElement, node: Node) {
        if node.is_empty() {
            self.nodes.remove(&element);
        } else {
            self.nodes.insert(element, node);
        }
    }

    /// Adds all paths of `other`.
    pub fn extend(&mut self, other: &Self) {
        for (element, node) in &other.nodes {
            let mine = self.nodes.entry(element.clone()).or_default();
            mine.member |= node.member;
            mine.children.extend(&node.children);
        }
    }

    /// Returns the paths in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |mine, theirs| {
            theirs.map_or_else(Node::default, |theirs| Node {
                member: mine.member && theirs.member,
                children: mine.children.intersection(&theirs.children),
            })
        })
    }

    /// Returns the paths that are not in `other`.
    pub fn difference(&self, other: &Self) -> Self {
        if other.is_empty() {
            return self.clone();
        }
        self.combine(other, |mine, theirs| {
            theirs.map_or_else(
                || mine.clone(),
                |theirs| Node {
                    member: mine.member && !theirs.member,
                    children: mine.children.difference(&theirs.children),
                },
            )
        })
    }

    /// Returns the paths that are equal to, below or on the way to a path of `other`.
    pub fn only_under(&self, other: &Self) -> Self {
        self.combine(other, |mine, theirs| match theirs {
            None => Node::default(),
            Some(theirs) if theirs.member => mine.clone(),
            Some(theirs) => {
                Node { member: mine.member, children: mine.children.only_under(&theirs.children) }
            }
        })
    }

    fn combine(&self, other: &Self, node: impl Fn(&Node, Option<&Node>) -> Node) -> Self {
        let mut result = Self::default();
        for (element, mine) in &self.nodes {
            let combined = node(mine, other.nodes.get(element));
            if !combined.is_empty() {
                result.nodes.insert(element.clone(), combined);
            }
        }
        result
    }

    /// Returns the set with each declared field that has members below it as an additional member. Removing all fields
    /// of a struct then removes the struct.
    pub fn with_named_fields(&self, ty: Option<Type<'_>>) -> Self {
        let mut result = Self::default();
        let map = ty.and_then(Type::as_map);
        let list = ty.and_then(Type::as_list);
        for (element, node) in &self.nodes {
            let (declared, child) = match element {
                PathElement::Field(name) => map.as_ref().map_or((false, None), |map| match map.field(name) {
                    Some(field) => (true, Some(field)),
                    None => (false, map.element),
                }),
                PathElement::Key(_) => (false, list.as_ref().map(|list| list.element)),
                _ => (false, None),
            };
            let named = declared && !node.children.is_empty();
            let children = node.children.with_named_fields(child);
            result.nodes.insert(element.clone(), Node { member: node.member || named, children });
        }
        result
    }

    /// Calls `visit` for each path. Paths that end at a level come before those below it.
    pub fn for_each(&self, visit: &mut dyn FnMut(&[PathElement])) {
        self.for_each_below(&mut Vec::new(), visit);
    }

    fn for_each_below(&self, prefix: &mut Vec<PathElement>, visit: &mut dyn FnMut(&[PathElement])) {
        for (element, _) in self.nodes.iter().filter(|(_, node)| node.member) {
            prefix.push(element.clone());
            visit(prefix);
            prefix.pop();
        }
        for (element, node) in &self.nodes {
            prefix.push(element.clone());
            node.children.for_each_below(prefix, visit);
            prefix.pop();
        }
    }

    /// Returns the `fieldsV1` form.
    pub fn encode(&self) -> Value {
        let mut map = Map::new();
        for (element, node) in &self.nodes {
            let mut below = node.children.encode();
            if let (true, false, Value::Object(below)) = (node.member, node.children.is_empty(), &mut below) {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            map.insert(element.encode(), below);
        }
        Value::Object(map)
    }

    /// Parses the `fieldsV1` form. The error is a message.
    pub fn decode(value: &Value) -> Result<Self, String> {
        Self::decode_at(value, 0)
    }

    fn decode_at(value: &Value, depth: usize) -> Result<Self, String> {
        let Value::Object(map) = value else { return Err("fieldsV1 must consist of objects".to_owned()) };
        if depth > MAX_DEPTH {
            return Err(format!("fieldsV1 is nested deeper than {MAX_DEPTH} levels"));
        }
        let mut set = Self::default();
        for (text, below) in map {
            if text == "." {
                continue;
            }
            let Some(element) = PathElement::parse(text)? else { continue };
            let children = Self::decode_at(below, depth + 1)?;
            let is_leaf = below.as_object().is_some_and(Map::is_empty);
            let member = is_leaf || below.get(".").is_some();
            set.set_node(element, Node { member, children });
        }
        Ok(set)
    }
}
