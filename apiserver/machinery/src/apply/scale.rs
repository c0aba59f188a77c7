//! Ownership of the replicas of an object that is written through its `scale` subresource.
//!
//! A Scale has one field that can be owned, and it is that of the object: who owns the object's replicas owns the Scale's.
//! Follows `k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go`.

use serde_json::Value;

use super::managed::{self, ManagerId, Managers, Operation, Owned};
use super::set::FieldSet;
use super::{Status, Writer, meta, updater, with_managed_fields, without_managed_fields};

/// The replicas before and after a write through `scale`, and where the object has them.
#[derive(Debug, Clone, Copy)]
pub struct Replicas<'a> {
    /// The field names of the path in the object.
    pub path: &'a [&'a str],
    /// Before; 0 where the object has none.
    pub old: i64,
    /// After. A Scale does not write 0, so nobody owns it.
    pub new: i64,
}

impl Replicas<'_> {
    fn set(&self) -> FieldSet {
        let mut set = FieldSet::default();
        set.insert_fields(self.path);
        set
    }

    fn owners(&self, managers: &Managers) -> Vec<ManagerId> {
        let set = self.set();
        let owns = |owned: &&Owned| !owned.set.intersection(&set).is_empty();
        managers.iter().filter(|(_, owned)| owns(owned)).map(|(id, _)| id.clone()).collect()
    }
}

fn managers_of(object: &Value) -> Managers {
    managed::decode(meta::at(object, &["metadata", "managedFields"])).unwrap_or_default()
}

/// Gives `object`, which has its new replicas already, the managers that it has after an update through `scale`.
pub fn update(object: Value, replicas: Replicas<'_>, writer: &Writer<'_>) -> Value {
    let mut managers = managers_of(&object);
    let owners = replicas.owners(&managers);
    // As long as nobody owns the replicas, nothing is tracked.
    if owners.is_empty() {
        return object;
    }
    let set = replicas.set();
    if replicas.old == replicas.new {
        // On the way to a Scale and back, an entry becomes two of one identity, of which the one without replicas stays.
        for id in owners.iter().filter(|id| id.operation == Operation::Update && id.subresource.is_empty()) {
            if let Some(owned) = managers.get_mut(id) {
                let rest = owned.set.difference(&set);
                owned.set = if rest.is_empty() { set.clone() } else { rest };
            }
        }
        return with_managed_fields(without_managed_fields(object), &managers);
    }
    for id in owners {
        if let Some(owned) = managers.get_mut(&id) {
            owned.set = owned.set.difference(&set);
        }
    }
    managers.retain(|_, owned| !owned.set.is_empty());
    if replicas.new != 0 {
        let owned = Owned { set, api_version: writer.api_version.to_owned(), time: None };
        managers.insert(writer.id(writer.manager, Operation::Update), owned);
    }
    with_managed_fields(without_managed_fields(object), &managers)
}

/// Gives `object` the managers that it has after an apply of a Scale with the same replicas.
///
/// Errors: 409 when others own the replicas and they would change, unless `force`; 500 for every change, since that is
/// how kube-apiserver answers for custom resources (it cannot convert a Scale to the version of the object).
pub fn apply(
    object: Value,
    replicas: Replicas<'_>,
    force: bool,
    writer: &Writer<'_>,
) -> Result<Value, Status> {
    let mut managers = managers_of(&object);
    let applier = writer.id(writer.manager, Operation::Apply);
    let cannot = |what: &str| {
        Status::generic(format!(
            "{what} ({}/{}; autoscaling/v1, Kind=Scale) to proper version: \
             request to convert CR to an invalid group/version: autoscaling/v1",
            meta::namespace(&object),
            meta::name(&object)
        ))
    };
    if replicas.owners(&managers).is_empty() {
        return Err(cannot("failed to create manager for existing fields: failed to convert live object"));
    }
    if replicas.old != replicas.new {
        let owners = replicas.owners(&managers).into_iter().filter(|id| *id != applier);
        // In a Scale the field has its own path.
        let mut set = FieldSet::default();
        set.insert_fields(&["spec", "replicas"]);
        let conflicts: updater::Conflicts = owners.map(|id| (id, set.clone())).collect();
        if !force && !conflicts.is_empty() {
            let (message, causes) = updater::conflict_message(&conflicts);
            return Err(Status::apply_conflict(message, &causes));
        }
        return Err(cannot("failed to convert new object"));
    }
    let owned = Owned { set: replicas.set(), api_version: writer.api_version.to_owned(), time: None };
    managers.entry(applier).or_insert(owned);
    Ok(with_managed_fields(without_managed_fields(object), &managers))
}

/// `.spec.replicas` as field names.
pub fn steps(path: &str) -> Vec<&str> {
    path.split('.').filter(|step| !step.is_empty()).collect()
}
