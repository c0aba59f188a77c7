//! Merging lists of a strategic merge patch, and their order.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::strategic::{DIRECTIVE, bad_directive, merge_map, without_directives};
use crate::go::go_text;
use crate::schema::Schema;
use crate::status::Status;

/// What is known of a list.
pub struct List<'a> {
    /// The field's name.
    pub name: &'a str,
    /// The schema of its items.
    pub items: Option<&'a Schema>,
    /// The merge key; empty for scalars.
    pub key: &'a str,
}

/// `found` without the scalars in `items`.
pub fn without(found: Vec<Value>, items: &[Value]) -> Vec<Value> {
    let unwanted: HashSet<String> = items.iter().map(Value::to_string).collect();
    found.into_iter().filter(|item| !unwanted.contains(&item.to_string())).collect()
}

/// What an item is known by: its merge key's value, or all of it where there is no key.
fn identity(item: &Value, key: &str) -> Option<String> {
    if key.is_empty() { Some(item.to_string()) } else { item.get(key).map(Value::to_string) }
}

/// The places of items by their identity; the first counts.
fn places(items: &[Value], key: &str) -> HashMap<String, usize> {
    let mut places = HashMap::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        if let Some(identity) = identity(item, key) {
            places.entry(identity).or_insert(place);
        }
    }
    places
}

/// `patch` merged into `original`.
pub fn merge(original: Vec<Value>, patch: Vec<Value>, list: &List<'_>) -> Result<Vec<Value>, Status> {
    let (maps, scalars): (Vec<&Value>, Vec<&Value>) =
        original.iter().chain(&patch).partition(|item| item.is_object());
    if !maps.is_empty() && !scalars.is_empty() || scalars.iter().any(|item| item.is_array()) {
        let lists = Value::Array(vec![original.clone().into(), patch.clone().into()]);
        return Err(Status::generic(format!("list element types are not identical: {}", go_text(&lists))));
    }
    if maps.is_empty() {
        let mut seen = HashSet::new();
        let items = original.iter().chain(&patch);
        let merged = items.filter(|item| seen.insert(item.to_string())).cloned().collect();
        return Ok(enforce_order(merged, &patch, &original, ""));
    }
    if list.key.is_empty() {
        return Err(Status::generic(format!("cannot merge lists without merge key for {}", list.name)));
    }
    let server_order = original.clone();
    let (mut merged, patch) = special_items(original, patch, list.key)?;
    let mut known = places(&merged, list.key);
    for item in &patch {
        let Value::Object(fields) = item else { continue };
        let value = fields.get(list.key).ok_or_else(|| no_merge_key(fields, list.key))?;
        match known.get(&value.to_string()).and_then(|place| merged.get_mut(*place)) {
            Some(Value::Object(found)) => {
                *found = merge_map(std::mem::take(found), fields.clone(), list.items, false)?;
            }
            _ => {
                known.entry(value.to_string()).or_insert(merged.len());
                merged.extend(without_directives(item.clone()));
            }
        }
    }
    Ok(enforce_order(merged, &patch, &server_order, list.key))
}

fn no_merge_key(item: &Map<String, Value>, key: &str) -> Status {
    let item = go_text(&Value::Object(item.clone()));
    Status::generic(format!("map: {item} does not contain declared merge key: {key}"))
}

/// Carries out the items that are directives: (original, patch without them).
fn special_items(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Status> {
    let mut rest = Vec::new();
    let mut deleted = HashSet::new();
    let mut replace = false;
    for item in patch {
        let Value::Object(fields) = &item else { continue };
        let Some(directive) = fields.get(DIRECTIVE) else {
            rest.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let value = fields.get(key).ok_or_else(|| no_merge_key(fields, key))?;
                deleted.insert(value.to_string());
            }
            Some("replace") => replace = true,
            Some("merge") => {
                return Err(Status::generic("merging lists cannot yet be specified in the patch"));
            }
            _ => return Err(bad_directive(directive, fields)),
        }
    }
    if replace {
        return Ok((Vec::new(), rest));
    }
    if !deleted.is_empty() {
        original.retain(|other| other.get(key).is_none_or(|value| !deleted.contains(&value.to_string())));
    }
    Ok((original, rest))
}

/// Brings `items` into order: those of `order` as it says, the others in the order that the server had, each put in
/// before the first item that comes after it there.
pub fn enforce_order(items: Vec<Value>, order: &[Value], server_order: &[Value], key: &str) -> Vec<Value> {
    let (order, server_order) = (places(order, key), places(server_order, key));
    let place = |places: &HashMap<String, usize>, item: &Value| places.get(&identity(item, key)?).copied();
    let placed = items.into_iter().map(|item| (place(&order, &item), place(&server_order, &item), item));
    type Placed = (Option<usize>, Option<usize>, Value);
    let (mut ordered, mut others): (Vec<Placed>, Vec<Placed>) =
        placed.partition(|(place, ..)| place.is_some());
    let by = |left: Option<usize>, right: Option<usize>| match (left, right) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => Ordering::Equal,
    };
    ordered.sort_by(|left, right| by(left.0, right.0));
    others.sort_by(|left, right| by(left.1, right.1));
    let mut result = Vec::with_capacity(ordered.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (_, server_place, item) in ordered {
        while let Some((_, other, _)) = others.peek() {
            if by(*other, server_place) != Ordering::Less {
                break;
            }
            result.extend(others.next().map(|(.., item)| item));
        }
        result.push(item);
    }
    result.extend(others.map(|(.., item)| item));
    result
}
