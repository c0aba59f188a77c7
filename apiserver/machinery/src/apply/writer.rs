//! Who writes, and what they come to own by it.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::managed::{ManagerId, Managers, Operation, Owned};
use super::reset::Reset;
use super::set::FieldSet;
use super::types::Type;
use super::updater::Updater;
use super::validate;
use super::versions::Versions;

/// Metadata that nobody owns.
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

/// Who writes, what and when.
pub struct Writer<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// `group/version` of the request.
    pub api_version: &'a str,
    /// `status`, `scale`, or empty for the main path.
    pub subresource: &'a str,
    /// What the strategy of the path resets.
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

    /// An object of the same kind with nothing set.
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

    /// Adds what an update changed to what `manager` owns.
    pub(super) fn record(&self, live: &Value, new: &Value, managers: &mut Managers, manager: &str) {
        let root = self.root();
        // Where an object cannot be walked by its type (it was stored in a version with other types), rather nobody owns
        // anything than somebody what is not theirs.
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

/// What of `object` is a zero value, or a struct of such.
fn zero_values(object: Map<String, Value>) -> Map<String, Value> {
    let zero = |(name, value)| match value {
        Value::Object(fields) => Some((name, Value::Object(zero_values(fields)))),
        Value::Null => Some((name, Value::Null)),
        Value::String(text) if text.is_empty() => Some((name, text.into())),
        _ => None,
    };
    object.into_iter().filter_map(zero).collect()
}
