//! The author of a write, and the ownership that an update gives them.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::managed::{ManagerId, Managers, Operation, Owned};
use super::reset::Reset;
use super::set::FieldSet;
use super::types::Type;
use super::updater::Updater;
use super::validate;
use super::versions::Versions;

/// Metadata that no manager owns.
const UNOWNED: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// The context of a write for the bookkeeping of field ownership.
pub struct Writer<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// The `group/version` of the request.
    pub api_version: &'a str,
    /// The subresource, for example `status` or `scale`, or empty for the main resource.
    pub subresource: &'a str,
    /// The fields that the strategy of the path resets.
    pub reset: Reset<'a>,
    /// The time of the write.
    pub now: DateTime<Utc>,
    /// The schemas and conversions of the resource.
    pub versions: &'a dyn Versions,
}

impl<'a> Writer<'a> {
    pub(super) fn id(&self, manager: &str, operation: Operation) -> ManagerId {
        let api_version = if operation == Operation::Apply { "" } else { self.api_version };
        ManagerId {
            manager: manager.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: self.subresource.to_owned(),
        }
    }

    pub(super) fn updater(&self) -> Updater<'a> {
        Updater { api_version: self.api_version, reset: self.reset, versions: self.versions }
    }

    pub(super) fn root(&self) -> Type<'a> {
        self.versions.schema(self.api_version).map_or(Type::Deduced, Type::root)
    }

    /// Returns an empty object of the same kind as `like`.
    pub(super) fn empty_object(&self, like: &Value) -> Value {
        let mut object = match self.versions.empty_object(self.api_version) {
            Some(Value::Object(object)) => zero_values(object),
            _ => Map::new(),
        };
        for name in ["apiVersion", "kind"] {
            if let Some(value) = like.get(name) {
                object.insert(name.to_owned(), value.clone());
            }
        }
        Value::Object(object)
    }

    /// Records the changes of an update as fields of `manager`.
    pub(super) fn record(&self, live: &Value, new: &Value, managers: &mut Managers, manager: &str) {
        let root = self.root();
        // An object may not match its type, because it was stored in a version with other types. All ownership is then
        // dropped, since no ownership is better than wrong ownership.
        let refused = managers.values().any(|owned| self.versions.refusal(&owned.api_version).is_some());
        if refused || types_fail(live, root) || types_fail(new, root) {
            managers.clear();
            return;
        }
        let Ok(set) = self.updater().update(live, new, managers) else {
            managers.clear();
            return;
        };
        let set = without_unowned(set);
        if set.is_empty() {
            return;
        }
        let owned = managers.entry(self.id(manager, Operation::Update)).or_insert_with(|| Owned {
            set: FieldSet::default(),
            api_version: self.api_version.to_owned(),
            time: None,
        });
        owned.set.extend(&set);
        owned.time = Some(self.now);
    }
}

fn types_fail(object: &Value, root: Type<'_>) -> bool {
    validate::validate(object, root, true).is_err()
}

pub(super) fn without_unowned(mut set: FieldSet) -> FieldSet {
    UNOWNED.iter().for_each(|path| set.remove_field(path));
    set
}

/// Returns the fields of `object` that are zero values or objects of zero values.
fn zero_values(object: Map<String, Value>) -> Map<String, Value> {
    let zero = |(name, value)| match value {
        Value::Object(fields) => Some((name, Value::Object(zero_values(fields)))),
        Value::Null => Some((name, Value::Null)),
        Value::String(text) if text.is_empty() => Some((name, text.into())),
        _ => None,
    };
    object.into_iter().filter_map(zero).collect()
}
