//! Ownership of the replicas of an object that is written through its `scale` subresource.
//!
//! A Scale is written like any object, with the managers that own the object's replicas. Ownership after the write is
//! transferred back to the object, as in `k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go`.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::managed::{
    self, ManagerId, Managers, Operation, Owned, with_managed_fields, without_managed_fields,
};
use super::set::FieldSet;
use super::{Reset, Versions, Writer};
use crate::meta;
use crate::schema::Schema;
use crate::status::Status;

/// The `apiVersion` of a Scale.
pub const API_VERSION: &str = "autoscaling/v1";

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let source = json!({"type": "object", "properties": {
        "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
        "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        "status": {"type": "object", "properties": {
            "replicas": {"type": "integer"}, "selector": {"type": "string"},
        }},
    }});
    Schema::parse(&source).unwrap_or_default()
});

/// Returns the schema of a Scale.
pub fn schema() -> &'static Schema {
    &SCHEMA
}

/// The only version of a Scale.
struct OnlyVersion;

impl Versions for OnlyVersion {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        (api_version == API_VERSION).then_some(&SCHEMA)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        (api_version == API_VERSION).then(|| object.clone())
    }

    fn empty_object(&self, _api_version: &str) -> Option<Value> {
        Some(json!({"spec": {}, "status": {}}))
    }
}

fn of_scale<'a>(writer: &Writer<'a>) -> Writer<'a> {
    Writer {
        manager: writer.manager,
        api_version: API_VERSION,
        subresource: writer.subresource,
        reset: Reset::Nothing,
        now: writer.now,
        versions: &OnlyVersion,
    }
}

fn one_field(path: &[&str]) -> FieldSet {
    let mut set = FieldSet::default();
    set.insert_fields(path);
    set
}

fn has(owned: &Owned, path: &FieldSet) -> bool {
    !owned.set.intersection(path).is_empty()
}

fn managers_of(object: &Value) -> Managers {
    managed::decode(meta::at(object, &["metadata", "managedFields"])).unwrap_or_default()
}

/// Adds to the Scale `view` the managers that own the replicas of `object` at `path`.
pub fn with_managers(view: Value, object: &Value, path: &[&str]) -> Value {
    let (there, here) = (one_field(path), one_field(&["spec", "replicas"]));
    let mut managers = Managers::new();
    for (id, owned) in managers_of(object).into_iter().filter(|(_, owned)| has(owned, &there)) {
        let api_version =
            if id.operation == Operation::Apply { String::new() } else { API_VERSION.to_owned() };
        let owned = Owned { set: here.clone(), api_version: API_VERSION.to_owned(), time: owned.time };
        managers.insert(ManagerId { api_version, ..id }, owned);
    }
    with_managed_fields(view, &managers)
}

/// Returns whether a Scale from [`with_managers`] has any manager.
pub fn is_owned(scale: &Value) -> bool {
    !managers_of(scale).is_empty()
}

/// Returns `live` after an apply of `config`, both Scales. The errors are those of [`super::apply`].
pub fn apply(live: &Value, config: &Value, force: bool, writer: &Writer<'_>) -> Result<Value, Status> {
    super::apply(live, config, force, &of_scale(writer))
}

/// Returns the Scale `new`, which replaces `live`, with its managers.
pub fn update(live: &Value, new: Value, writer: &Writer<'_>) -> Value {
    super::update(Some(live), new, &of_scale(writer))
}

/// Returns whether two Scales differ in more than their managers.
pub fn differ(one: &Value, other: &Value) -> bool {
    without_managed_fields(one.clone()) != without_managed_fields(other.clone())
}

/// Transfers the ownership of the replicas in `scale` to the field at `path` of `object`.
pub fn to_object(object: Value, scale: &Value, path: &[&str], api_version: &str) -> Value {
    let (there, here) = (one_field(path), one_field(&["spec", "replicas"]));
    let (before, mut new) = (managers_of(&object), managers_of(scale));
    let mut entries: Vec<(ManagerId, Owned)> = Vec::new();
    for (id, owned) in &before {
        if !has(owned, &there) || new.remove(id).is_some() {
            entries.push((id.clone(), owned.clone()));
            continue;
        }
        let rest = owned.set.difference(&there);
        if !rest.is_empty() {
            entries.push((id.clone(), Owned { set: rest, ..owned.clone() }));
        }
    }
    // An update in the version of the object and an update of the Scale are two entries, which can look alike in the
    // object.
    for (id, _) in new.into_iter().filter(|(_, owned)| has(owned, &here)) {
        let time = before.get(&id).and_then(|owned| owned.time);
        entries.push((id, Owned { set: there.clone(), api_version: api_version.to_owned(), time }));
    }
    let mut object = without_managed_fields(object);
    if let (Some(fields), Some(metadata)) =
        (managed::encode_entries(entries), meta::metadata_mut(&mut object))
    {
        metadata.insert("managedFields".to_owned(), fields);
    }
    object
}

/// Splits a path such as `.spec.replicas` into field names.
pub fn steps(path: &str) -> Vec<&str> {
    path.split('.').filter(|step| !step.is_empty()).collect()
}
