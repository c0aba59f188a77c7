//! Server-side apply and the maintenance of `metadata.managedFields`.
//!
//! The semantics are those of `sigs.k8s.io/structured-merge-diff` and `k8s.io/apimachinery/pkg/util/managedfields`.

mod compare;
mod fields;
mod items;
mod last_applied;
mod managed;
mod merge;
mod path;
mod reconcile;
pub mod scale;
mod set;
pub(crate) mod types;
mod updater;
mod validate;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::meta;
use crate::schema::Schema;
use crate::status::Status;

use self::managed::{ManagerId, Managers, Operation, Owned};
use self::set::FieldSet;
use self::types::Type;
use self::updater::{Conflicts, Failure, Updater};

/// The manager of the fields that exist before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

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

/// The versions of a resource. The fields of each manager are recorded in the version that the manager used.
pub trait Versions {
    /// Returns the schema of `api_version` (`group/version`), or `None` if the version does not exist.
    fn schema(&self, api_version: &str) -> Option<&Schema>;

    /// Converts `object` to `api_version`, whether or not that version declares all of its fields. Returns `None` if
    /// the version does not exist.
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value>;

    /// Returns an empty object with its defaults, for a kind that is a Go type in kube-apiserver. Its zero values
    /// (`{}`, `""`, null) exist before any write, so no manager owns them.
    fn empty_object(&self, _api_version: &str) -> Option<Value> {
        None
    }

    /// Returns an error message if the request must fail because of fields that are owned in `api_version`. If it is
    /// `None` and the version does not exist, the ownership is dropped.
    fn refusal(&self, _api_version: &str) -> Option<String> {
        None
    }
}

/// A resource with one schema for all versions, whose conversion only changes `apiVersion`.
pub struct OneSchema<'a>(pub &'a Schema);

impl Versions for OneSchema<'_> {
    fn schema(&self, _api_version: &str) -> Option<&Schema> {
        Some(self.0)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let mut object = object.clone();
        if let Value::Object(map) = &mut object {
            map.insert("apiVersion".to_owned(), api_version.into());
        }
        Some(object)
    }
}

/// Fields that a request cannot own, because the strategy of its path resets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset<'a> {
    /// All fields can be owned.
    Nothing,
    /// The fields at and below these paths, for example `["status"]`, cannot be owned.
    Fields(&'a [&'a [&'a str]]),
    /// Only the fields at and below these paths can be owned.
    AllBut(&'a [&'a [&'a str]]),
}

impl Reset<'_> {
    fn filter(self, mut set: FieldSet) -> FieldSet {
        match self {
            Self::Nothing => {}
            Self::Fields(reset) => reset.iter().for_each(|path| set.remove_fields(path)),
            Self::AllBut(kept) => {
                let mut paths = FieldSet::default();
                kept.iter().for_each(|path| paths.insert_fields(path));
                set = set.only_under(&paths);
            }
        }
        set
    }
}

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
    fn id(&self, manager: &str, operation: Operation) -> ManagerId {
        let api_version = if operation == Operation::Apply { "" } else { self.api_version };
        ManagerId {
            manager: manager.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: self.subresource.to_owned(),
        }
    }

    fn updater(&self) -> Updater<'a> {
        Updater { api_version: self.api_version, reset: self.reset, versions: self.versions }
    }

    fn root(&self) -> Type<'a> {
        self.versions.schema(self.api_version).map_or(Type::Deduced, Type::root)
    }

    /// Returns an empty object of the same kind as `like`.
    fn empty_object(&self, like: &Value) -> Value {
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
    fn record(&self, live: &Value, new: &Value, managers: &mut Managers, manager: &str) {
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

fn without_unowned(mut set: FieldSet) -> FieldSet {
    UNOWNED.iter().for_each(|path| set.remove_field(path));
    set
}

/// Applies `config` to `live`, both in the writer's version. For a creation, `live` has only `apiVersion` and `kind`.
///
/// Errors: 409 with one cause for each field that another manager owns with another value, unless `force` is set; 400
/// and 500 as in kube-apiserver for an invalid `config`.
pub fn apply(live: &Value, config: &Value, force: bool, writer: &Writer<'_>) -> Result<Value, Status> {
    if meta::api_version(config) != writer.api_version {
        return Err(Status::bad_request(format!(
            "Incorrect version specified in apply patch. Specified patch version: {}, expected: {}",
            meta::api_version(config),
            writer.api_version
        )));
    }
    if meta::at(config, &["metadata", "managedFields"]).is_some_and(|fields| !fields.is_null()) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    let mut managers = managed::decode(meta::at(live, &["metadata", "managedFields"]))
        .map_err(|error| Status::generic(format!("failed to decode managed fields: {error}")))?;
    let live = copy_without_managed_fields(live);
    if managers.is_empty() {
        let empty = writer.empty_object(&live);
        writer.record(&empty, &live, &mut managers, BEFORE_FIRST_APPLY);
    }
    let new = if writer.manager == last_applied::KUBECTL {
        match try_apply(&live, config, managers.clone(), force, writer) {
            Err(Failure::Conflicts(conflicts)) => take_over(&live, config, managers, conflicts, writer),
            result => result,
        }
    } else {
        try_apply(&live, config, managers, force, writer)
    };
    let (new, managers) = new.map_err(status_of)?;
    let mut new = new.unwrap_or(live);
    if writer.manager == last_applied::KUBECTL {
        last_applied::refresh(&mut new, config);
    }
    Ok(with_managed_fields(new, &managers))
}

/// Retries the apply of `kubectl` if all conflicts are with its own client-side apply.
fn take_over(
    live: &Value,
    config: &Value,
    managers: Managers,
    conflicts: Conflicts,
    writer: &Writer<'_>,
) -> Result<(Option<Value>, Managers), Failure> {
    match last_applied::remaining_conflicts(&conflicts, live, writer.api_version, writer.root()) {
        Some(remaining) if remaining.is_empty() => try_apply(live, config, managers, true, writer),
        Some(remaining) => Err(Failure::Conflicts(remaining)),
        None => Err(Failure::Conflicts(conflicts)),
    }
}

fn try_apply(
    live: &Value,
    config: &Value,
    mut managers: Managers,
    force: bool,
    writer: &Writer<'_>,
) -> Result<(Option<Value>, Managers), Failure> {
    let root = writer.root();
    let about = |what: &str, object: &Value, error: String| {
        let (group, version) = meta::group_version(meta::api_version(object));
        format!(
            "failed to create typed {what} object ({}/{}; {group}/{version}, Kind={}): {error}",
            meta::namespace(object),
            meta::name(object),
            meta::kind(object)
        )
    };
    validate::validate(config, root, false).map_err(|error| about("patch", config, error))?;
    validate::validate(live, root, true).map_err(|error| about("live", live, error))?;
    if let Some(why) = managers.values().find_map(|owned| writer.versions.refusal(&owned.api_version)) {
        return Err(Failure::Other(why));
    }
    let id = writer.id(writer.manager, Operation::Apply);
    let new = writer.updater().apply(live, config, &mut managers, &id, force)?;
    if let Some(owned) = managers.get_mut(&id) {
        owned.set = without_unowned(std::mem::take(&mut owned.set));
        if new.is_some() {
            owned.time = Some(writer.now);
        }
        if owned.set.is_empty() {
            managers.remove(&id);
        }
    }
    Ok((new, managers))
}

fn status_of(failure: Failure) -> Status {
    match failure {
        Failure::Conflicts(conflicts) => {
            let (message, causes) = updater::conflict_message(&conflicts);
            Status::apply_conflict(message, &causes)
        }
        Failure::Other(message) => Status::generic(message),
    }
}

/// Maintains `managedFields` for any write except apply. `live` is the stored object, or `None` at creation. `new` is
/// the object to store, after defaulting and before the strategy resets fields.
pub fn update(live: Option<&Value>, mut new: Value, writer: &Writer<'_>) -> Value {
    let live_fields = live.and_then(|live| meta::at(live, &["metadata", "managedFields"]));
    let new_fields = meta::at(&new, &["metadata", "managedFields"]).filter(|fields| !fields.is_null());
    let of_live = || managed::decode(live_fields).unwrap_or_default();
    let mut managers = match new_fields {
        _ if !writer.subresource.is_empty() => of_live(),
        Some(fields) if is_reset(fields) => Managers::new(),
        // A client that does not know `managedFields` must not delete them by omitting them.
        fields => managed::decode(fields).ok().filter(|fields| !fields.is_empty()).unwrap_or_else(of_live),
    };
    new = without_managed_fields(new);
    // An object without managers stays untracked until the first apply.
    if managers.is_empty() && live.is_some_and(|live| !meta::uid(live).is_empty()) {
        return new;
    }
    let live = live.map_or_else(|| writer.empty_object(&new), copy_without_managed_fields);
    writer.record(&live, &new, &mut managers, writer.manager);
    managed::cap_updates(&mut managers);
    with_managed_fields(new, &managers)
}

/// Returns whether the client resets all entries, by `[]` or `[{}]`.
fn is_reset(fields: &Value) -> bool {
    match fields.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => {
            only.as_object().is_some_and(|entry| entry.values().all(|value| value.is_null() || value == ""))
        }
        _ => false,
    }
}

/// Restores the old times if `new` differs from `old` only in the times of `managedFields`, so that the write is
/// recognized as one without changes.
pub fn keep_times(old: &Value, new: &mut Value) {
    let path = &["metadata", "managedFields"][..];
    let (Some(old_fields), Some(new_fields)) = (meta::at(old, path), meta::at(new, path)) else { return };
    if old_fields == new_fields || !same_but_times(old_fields, new_fields) {
        return;
    }
    let mut candidate = new.clone();
    if let Some(metadata) = meta::metadata_mut(&mut candidate) {
        metadata.insert("managedFields".to_owned(), old_fields.clone());
    }
    if candidate == *old {
        *new = candidate;
    }
}

fn same_but_times(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_array(), new.as_array()) else { return false };
    let same = |(old, new): (&Value, &Value)| match (old.as_object(), new.as_object()) {
        (Some(old), Some(new)) => {
            let timeless = |(name, _): &(&String, &Value)| *name != "time";
            old.iter().filter(timeless).eq(new.iter().filter(timeless))
        }
        _ => false,
    };
    old.len() == new.len() && old.iter().zip(new).all(same)
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

fn without_managed_fields(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Copies an object without its entries, which can be as large as the rest of the object.
fn copy_without_managed_fields(object: &Value) -> Value {
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

fn with_managed_fields(mut object: Value, managers: &Managers) -> Value {
    if let (Some(fields), Some(metadata)) = (managed::encode(managers), meta::metadata_mut(&mut object)) {
        metadata.insert("managedFields".to_owned(), fields);
    }
    object
}
