//! The entries of `metadata.managedFields`: owner, fields and time.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::set::FieldSet;
use crate::clock::{parse_rfc3339, rfc3339};
use crate::limits::MAX_UPDATE_MANAGERS;
use crate::meta;

/// The manager into which the oldest updates are merged.
const OLD_UPDATES_MANAGER: &str = "ancient-changes";

/// The kinds of writes by which fields are owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Any other write.
    Update,
}

impl Operation {
    fn text(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The identity of an entry, which is unique in an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ManagerId {
    /// The name of the field manager.
    pub manager: String,
    /// The kind of write.
    pub operation: Operation,
    /// The version of an update. It is empty for apply, where a manager has one entry for all versions.
    pub api_version: String,
    /// The subresource, or empty for the main resource.
    pub subresource: String,
}

impl ManagerId {
    /// Returns the text for conflicts, for example `"bob" with subresource "status" using v1`.
    pub fn describe(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

/// The fields that one manager owns.
#[derive(Debug, Clone, PartialEq)]
pub struct Owned {
    /// The owned fields.
    pub set: FieldSet,
    /// The version of the field names.
    pub api_version: String,
    /// The time of the last change; some entries have none.
    pub time: Option<DateTime<Utc>>,
}

/// All entries of an object.
pub type Managers = BTreeMap<ManagerId, Owned>;

/// Parses `managedFields`. The error is a message.
pub fn decode(entries: Option<&Value>) -> Result<Managers, String> {
    let mut managers = Managers::new();
    let entries = entries.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (position, entry) in entries.iter().enumerate() {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let operation = match text("operation").as_str() {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType").as_str() {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {position}")),
            other => return Err(format!("invalid fieldsType {other:?} in managed fields entry {position}")),
        }
        let id = ManagerId {
            manager: text("manager"),
            operation,
            api_version: if operation == Operation::Apply { String::new() } else { api_version.clone() },
            subresource: text("subresource"),
        };
        let set = match entry.get("fieldsV1") {
            None | Some(Value::Null) => FieldSet::default(),
            Some(fields) => FieldSet::decode(fields)?,
        };
        managers.insert(id, Owned { set, api_version, time: parse_rfc3339(&text("time")) });
    }
    Ok(managers)
}

/// Returns the value of `managedFields`, or `None` without any manager.
pub fn encode(managers: &Managers) -> Option<Value> {
    encode_sorted(managers.iter().collect())
}

/// Encodes entries like [`encode`], but allows several entries with the same identity.
pub fn encode_entries(entries: Vec<(ManagerId, Owned)>) -> Option<Value> {
    encode_sorted(entries.iter().map(|(id, owned)| (id, owned)).collect())
}

fn encode_sorted(mut entries: Vec<(&ManagerId, &Owned)>) -> Option<Value> {
    if entries.is_empty() {
        return None;
    }
    entries.sort_by_key(|(id, owned)| {
        let seconds = owned.time.map_or(0, |time| time.timestamp());
        (id.operation, seconds, &id.manager, &owned.api_version, &id.subresource)
    });
    Some(entries.into_iter().map(|(id, owned)| encode_entry(id, owned)).collect())
}

fn encode_entry(id: &ManagerId, owned: &Owned) -> Value {
    let mut entry = Map::new();
    let mut put = |name: &str, value: &str| {
        if !value.is_empty() {
            entry.insert(name.to_owned(), value.into());
        }
    };
    put("apiVersion", &owned.api_version);
    put("fieldsType", "FieldsV1");
    put("manager", &id.manager);
    put("operation", id.operation.text());
    put("subresource", &id.subresource);
    put("time", &owned.time.map(rfc3339).unwrap_or_default());
    entry.insert("fieldsV1".to_owned(), owned.set.encode());
    Value::Object(entry)
}

/// Merges the oldest updates of each version until there are at most [`MAX_UPDATE_MANAGERS`].
pub fn cap_updates(managers: &mut Managers) {
    let mut updates: Vec<(i64, ManagerId)> = managers
        .iter()
        .filter(|(id, _)| id.operation == Operation::Update)
        .map(|(id, owned)| (owned.time.map_or(0, |time| time.timestamp()), id.clone()))
        .collect();
    let mut count = updates.len();
    if count <= MAX_UPDATE_MANAGERS {
        return;
    }
    updates.sort();
    let mut first_of_version: BTreeMap<String, ManagerId> = BTreeMap::new();
    for (_, id) in updates {
        if count <= MAX_UPDATE_MANAGERS {
            return;
        }
        let Some(first) = first_of_version.get(&id.api_version).cloned() else {
            first_of_version.insert(id.api_version.clone(), id);
            continue;
        };
        let bucket = ManagerId {
            manager: OLD_UPDATES_MANAGER.to_owned(),
            operation: Operation::Update,
            api_version: id.api_version.clone(),
            subresource: String::new(),
        };
        if id == bucket {
            continue;
        }
        if !managers.contains_key(&bucket)
            && let Some(owned) = managers.remove(&first)
        {
            managers.insert(bucket.clone(), owned);
        }
        if let (Some(owned), Some(merged)) = (managers.remove(&id), managers.get_mut(&bucket)) {
            merged.set.extend(&owned.set);
            // The updates are sorted by time, so this is the later of the two times.
            merged.time = owned.time;
            count -= 1;
        }
    }
}

pub(super) fn without_managed_fields(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Copies an object without its entries, which can be as large as the rest of the object.
pub(super) fn copy_without_managed_fields(object: &Value) -> Value {
    let Some(fields) = object.as_object() else { return object.clone() };
    let copy = |(name, value): (&String, &Value)| match value {
        Value::Object(metadata) if name == "metadata" => {
            let kept = metadata.iter().filter(|(name, _)| *name != "managedFields");
            (name.clone(), kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        _ => (name.clone(), value.clone()),
    };
    Value::Object(fields.iter().map(copy).collect())
}

pub(super) fn with_managed_fields(mut object: Value, managers: &Managers) -> Value {
    if let (Some(fields), Some(metadata)) = (encode(managers), meta::metadata_mut(&mut object)) {
        metadata.insert("managedFields".to_owned(), fields);
    }
    object
}
