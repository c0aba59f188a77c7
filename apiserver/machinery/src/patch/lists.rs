//! Merging and ordering of lists for strategic merge patches.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::strategic::{DIRECTIVE, bad_directive, merge_map};
use crate::go::{go_text, go_type};
use crate::schema::Schema;
use crate::status::Status;

/// The properties of a list field.
pub struct List<'a> {
    /// The name of the field.
    pub name: &'a str,
    /// The schema of the items.
    pub items: Option<&'a Schema>,
    /// The merge key, or empty for scalars.
    pub key: &'a str,
}

/// Returns `found` without the scalars in `items`.
pub fn without(found: Vec<Value>, items: &[Value]) -> Vec<Value> {
    let gone = Places::new(items, "");
    found.into_iter().filter(|item| gone.of(item).is_none()).collect()
}

/// Merges `patch` into `original`.
pub fn merge(original: Vec<Value>, patch: Vec<Value>, list: &List<'_>) -> Result<Vec<Value>, Status> {
    let (maps, scalars): (Vec<&Value>, Vec<&Value>) =
        original.iter().chain(&patch).partition(|item| item.is_object());
    if !maps.is_empty() && !scalars.is_empty() || scalars.iter().any(|item| item.is_array()) {
        let lists = Value::Array(vec![original.clone().into(), patch.clone().into()]);
        return Err(Status::generic(format!("list element types are not identical: {}", go_text(&lists))));
    }
    if maps.is_empty() {
        let mut seen = HashSet::new();
        let merged = original.iter().chain(&patch).filter(|item| seen.insert(item.to_string()));
        let merged = merged.cloned().collect();
        return Ok(enforce_order(merged, &patch, &original, ""));
    }
    if list.key.is_empty() {
        return Err(Status::generic(format!("cannot merge lists without merge key for {}", list.name)));
    }
    let server_order = original.clone();
    let (mut merged, patch) = special_items(original, patch, list.key)?;
    let mut places = Places::new(&merged, list.key);
    for item in &patch {
        let Value::Object(fields) = item else { continue };
        fields.get(list.key).ok_or_else(|| no_merge_key(fields, list.key))?;
        match places.of(item).and_then(|place| merged.get_mut(place)) {
            Some(Value::Object(found)) => {
                *found = merge_map(std::mem::take(found), fields.clone(), list.items, false)?;
            }
            _ => {
                places.add(item, merged.len());
                merged.push(item.clone());
            }
        }
    }
    Ok(enforce_order(merged, &patch, &server_order, list.key))
}

fn no_merge_key(item: &Map<String, Value>, key: &str) -> Status {
    let item = go_text(&Value::Object(item.clone()));
    Status::generic(format!("map: {item} does not contain declared merge key: {key}"))
}

/// Executes the items of the patch that are directives. Returns the original and the patch without directives.
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
    if !deleted.is_empty() {
        original.retain(|other| other.get(key).is_none_or(|value| !deleted.contains(&value.to_string())));
    }
    Ok(if replace { (Vec::new(), rest) } else { (original, rest) })
}

/// The index of each item of a list by its merge key, or by its value without a key. Of equal items, the first counts.
struct Places<'k> {
    key: &'k str,
    found: HashMap<String, usize>,
}

impl<'k> Places<'k> {
    fn new(list: &[Value], key: &'k str) -> Self {
        let mut places = Self { key, found: HashMap::new() };
        list.iter().enumerate().for_each(|(place, item)| places.add(item, place));
        places
    }

    fn identity(&self, item: &Value) -> Option<String> {
        match self.key {
            "" => Some(item.to_string()),
            key => item.get(key).map(Value::to_string),
        }
    }

    fn add(&mut self, item: &Value, place: usize) {
        if let Some(identity) = self.identity(item) {
            self.found.entry(identity).or_insert(place);
        }
    }

    fn of(&self, item: &Value) -> Option<usize> {
        self.found.get(&self.identity(item)?).copied()
    }
}

/// Returns the error for a value that should be a list.
pub fn no_list(value: &Value) -> Status {
    let found = if value.is_null() { "%!s(<nil>)" } else { go_type(value) };
    Status::generic(format!("expected a []interface {{}}, but received a {found}"))
}

/// Checks that `order` contains the items of the patch in their order, and that its items have the merge key `key`.
pub fn check_order(items: &[Value], order: &[Value], key: &str) -> Result<(), Status> {
    if !key.is_empty() {
        for (index, item) in order.iter().enumerate() {
            match item {
                Value::Object(fields) if fields.contains_key(key) => {}
                Value::Object(fields) => return Err(no_merge_key(fields, key)),
                _ => return Err(Status::generic(format!("value for key {index} is not a map"))),
            }
        }
    }
    let mut rest = order.iter();
    for item in items.iter().filter(|item| key.is_empty() || item.get(DIRECTIVE).is_none()) {
        if let (Value::Object(fields), false) = (item, key.is_empty())
            && !fields.contains_key(key)
        {
            return Err(no_merge_key(fields, key));
        }
        let is_it = |other: &Value| match key {
            "" => other == item,
            key => other.get(key) == item.get(key),
        };
        if !rest.any(is_it) {
            let (items, order) = (go_text(&Value::from(items)), go_text(&Value::from(order)));
            return Err(Status::generic(format!(
                "The order in patch list:\n{items}\n doesn't match $setElementOrder list:\n{order}\n"
            )));
        }
    }
    Ok(())
}

/// Sorts `items`: those in `order` as it says, the others in the server's order. Each of the others is inserted before
/// the first item that follows it on the server.
pub fn enforce_order(items: Vec<Value>, order: &[Value], server_order: &[Value], key: &str) -> Vec<Value> {
    let (order, server_order) = (Places::new(order, key), Places::new(server_order, key));
    // Each item with its index in `order` and its index on the server.
    let placed = items.into_iter().map(|item| (order.of(&item), server_order.of(&item), item));
    let (mut ordered, mut others): (Vec<_>, Vec<_>) = placed.partition(|(place, _, _)| place.is_some());
    ordered.sort_by_key(|(place, ..)| *place);
    others.sort_by_key(|(_, place, _)| place.unwrap_or(usize::MAX));
    let mut result = Vec::with_capacity(ordered.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (_, place, item) in ordered {
        while let Some((_, other, _)) = others.peek() {
            if other.zip(place).is_none_or(|(other, place)| other >= place) {
                break;
            }
            result.extend(others.next().map(|(.., other)| other));
        }
        result.push(item);
    }
    result.extend(others.map(|(.., other)| other));
    result
}
