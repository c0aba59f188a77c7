//! The ownership rules: which managers lose, gain and keep fields at a write.

use std::collections::BTreeMap;

use serde_json::Value;

use super::compare::Comparison;
use super::fields::{field_set, remove};
use super::managed::{ManagerId, Managers, Owned};
use super::merge::merge;
use super::path::{self, PathElement};
use super::reconcile::reconcile;
use super::reset::Reset;
use super::set::FieldSet;
use super::types::Type;
use super::validate::validate;
use super::versions::Versions;

/// Fields that other managers own with another value.
pub type Conflicts = BTreeMap<ManagerId, FieldSet>;

/// An object in several versions, by `apiVersion`.
type Versioned = BTreeMap<String, Value>;

/// The reasons why an apply fails.
#[derive(Debug)]
pub enum Failure {
    /// Other managers own fields with other values.
    Conflicts(Conflicts),
    /// Any other reason, as a message.
    Other(String),
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Other(message)
    }
}

/// The ownership rules for a write in one version.
pub struct Updater<'a> {
    /// The version of the request, which is that of the given objects.
    pub api_version: &'a str,
    /// Fields that the writer cannot own, for example `status`.
    pub reset: Reset<'a>,
    /// The schemas and conversions of the resource.
    pub versions: &'a dyn Versions,
}

impl<'a> Updater<'a> {
    /// Returns the type of objects of `api_version`, or `None` if the version does not exist.
    pub fn root(&self, api_version: &str) -> Option<Type<'a>> {
        self.versions.schema(api_version).map(Type::root)
    }

    /// Adjusts all field sets to the schemas of their versions. Returns `live` in the other versions of the managers.
    ///
    /// # Errors
    /// `live` has a field that the version of a manager does not declare.
    fn reconcile(&self, live: &Value, managers: &mut Managers) -> Result<Versioned, Failure> {
        let mut versioned = Versioned::new();
        for owned in managers.values_mut() {
            let Some(root) = self.root(&owned.api_version) else { continue };
            if owned.api_version != self.api_version
                && !versioned.contains_key(&owned.api_version)
                && let Some(converted) = self.to(live, &owned.api_version)
            {
                validate(&converted, root, true)?;
                versioned.insert(owned.api_version.clone(), converted);
            }
            if let Some(set) = reconcile(&owned.set, root) {
                owned.set = set;
            }
        }
        Ok(versioned)
    }

    /// Removes the changes from `old` to `new` from all managers except `writer`. Without `force`, fields that another
    /// manager owns are conflicts. `versioned` has `old` in the other versions of the managers.
    fn take(
        &self,
        old: &Value,
        versioned: &Versioned,
        new: &Value,
        managers: &mut Managers,
        writer: Option<&ManagerId>,
        force: bool,
    ) -> Result<Comparison, Failure> {
        let failed = |error: String| format!("failed to compare objects: {error}");
        let root = self.root(self.api_version).unwrap_or(Type::Deduced);
        let compared = Comparison::of(old, new, root).map_err(failed)?.without(self.reset);
        let mut others: BTreeMap<String, Comparison> = BTreeMap::new();
        let mut conflicts = Conflicts::new();
        // Ownership in versions that do not exist is dropped.
        managers.retain(|id, owned| writer == Some(id) || self.root(&owned.api_version).is_some());
        for (id, owned) in managers.iter().filter(|(id, _)| writer != Some(*id)) {
            let version = owned.api_version.as_str();
            if version != self.api_version && !others.contains_key(version) {
                let Some(root) = self.root(version) else { continue };
                let (Some(old), Some(new)) = (versioned.get(version), self.converted(new, version, root)?)
                else {
                    continue;
                };
                let compared = Comparison::of(old, &new, root).map_err(failed)?;
                others.insert(version.to_owned(), compared.without(self.reset));
            }
            let comparison = others.get(version).unwrap_or(&compared);
            let mut lost = owned.set.intersection(&comparison.modified);
            lost.extend(&owned.set.intersection(&comparison.added));
            if !lost.is_empty() {
                conflicts.insert(id.clone(), lost);
            }
        }
        if !force && !conflicts.is_empty() {
            return Err(Failure::Conflicts(conflicts));
        }
        for (id, owned) in managers.iter_mut().filter(|(id, _)| writer != Some(*id)) {
            if let Some(lost) = conflicts.get(id) {
                owned.set = owned.set.difference(lost);
            }
            let removed = &others.get(&owned.api_version).unwrap_or(&compared).removed;
            if !removed.is_empty() {
                owned.set = owned.set.difference(removed);
            }
        }
        managers.retain(|_, owned| !owned.set.is_empty());
        Ok(compared)
    }

    /// Converts the new object to another version, or returns `None` if it does not exist. The object must not have
    /// fields that the version does not declare.
    fn converted(&self, object: &Value, version: &str, root: Type<'_>) -> Result<Option<Value>, Failure> {
        let Some(converted) = self.versions.convert(object, version) else { return Ok(None) };
        validate(&converted, root, true).map_err(|error| format!("failed to convert new object: {error}"))?;
        Ok(Some(converted))
    }

    /// Records a write of the whole object that is not an apply. Returns the fields that the writer owns by it.
    pub fn update(&self, live: &Value, new: &Value, managers: &mut Managers) -> Result<FieldSet, Failure> {
        let versioned = self.reconcile(live, managers)?;
        let comparison = self.take(live, &versioned, new, managers, None, true)?;
        let mut set = comparison.changed();
        set = self.reset.filter(set);
        Ok(set)
    }

    /// Applies `config` to `live`. Returns the new object, or `None` if nothing changes.
    pub fn apply(
        &self,
        live: &Value,
        config: &Value,
        managers: &mut Managers,
        applier: &ManagerId,
        force: bool,
    ) -> Result<Option<Value>, Failure> {
        let versioned = self.reconcile(live, managers)?;
        let root = self.root(self.api_version).unwrap_or(Type::Deduced);
        let merged = merge(live, config, root).map_err(|error| format!("failed to merge config: {error}"))?;
        let last = managers.remove(applier);
        let set = self.reset.filter(field_set(config, root));
        let time = last.as_ref().and_then(|last| last.time);
        let last = last.filter(|last| self.leaves_out(last, &set));
        managers.insert(applier.clone(), Owned { set, api_version: self.api_version.to_owned(), time });
        let new = match last {
            Some(last) => {
                let pruned = self.prune(merged, managers, &last);
                pruned.map_err(|error| format!("failed to prune fields: {error}"))?
            }
            None => merged,
        };
        self.take(live, &versioned, &new, managers, Some(applier), force)?;
        Ok((*live != new).then_some(new))
    }

    /// Returns whether `set` may lack fields of the last apply. In another version, it may.
    fn leaves_out(&self, last: &Owned, set: &FieldSet) -> bool {
        last.api_version != self.api_version || !last.set.difference(set).is_empty()
    }

    /// Removes the fields that the applier applied last time but not this time, and that no other manager owns.
    ///
    /// # Errors
    /// The version of the last apply does not declare a field of the object.
    fn prune(&self, merged: Value, managers: &Managers, last: &Owned) -> Result<Value, String> {
        let version = last.api_version.as_str();
        let (Some(root), Some(converted)) = (self.root(version), self.to(&merged, version)) else {
            return Ok(merged);
        };
        if version != self.api_version {
            validate(&converted, root, true)
                .map_err(|why| format!("failed to convert merged object to last applied version: {why}"))?;
        }
        let last_set = last.set.with_named_fields(Some(root));
        let pruned = remove(&converted, &last_set, root);
        let pruned = self.add_back_owned(&converted, pruned, version, managers);
        let pruned = add_back_dangling(&converted, &pruned, &last_set, root);
        Ok(self.to(&pruned, self.api_version).unwrap_or(merged))
    }

    fn to(&self, object: &Value, version: &str) -> Option<Value> {
        if object.get("apiVersion").and_then(Value::as_str) == Some(version) {
            return Some(object.clone());
        }
        self.versions.convert(object, version)
    }

    /// Adds back the fields that any manager owns, including the applier's new configuration. The result is in
    /// `version`.
    fn add_back_owned(&self, merged: &Value, pruned: Value, version: &str, managers: &Managers) -> Value {
        let mut owned_at: BTreeMap<&str, FieldSet> = BTreeMap::new();
        for owned in managers.values() {
            owned_at.entry(&owned.api_version).or_default().extend(&owned.set);
        }
        // The version itself comes first, because conversion may need fields that are owned there.
        let first = owned_at.remove_entry(version);
        let mut pruned = pruned;
        for (at, owned) in first.into_iter().chain(owned_at) {
            let (Some(root), Some(merged_at), Some(pruned_at)) =
                (self.root(at), self.to(merged, at), self.to(&pruned, at))
            else {
                continue;
            };
            let all = field_set(&merged_at, root).with_named_fields(Some(root));
            let kept = field_set(&pruned_at, root).with_named_fields(Some(root));
            let gone = all.difference(&kept).difference(&owned.with_named_fields(Some(root)));
            let result = remove(&merged_at, &gone, root);
            if let Some(result) = self.to(&result, version) {
                pruned = result;
            }
        }
        pruned
    }
}

/// Adds back fields that were removed although the applier did not own them: fields below a removed field that another
/// manager or no manager owns.
fn add_back_dangling(merged: &Value, pruned: &Value, last: &FieldSet, root: Type<'_>) -> Value {
    let kept = field_set(pruned, root).with_named_fields(Some(root));
    let all = field_set(merged, root).with_named_fields(Some(root));
    remove(merged, &all.difference(&kept).intersection(last), root)
}

/// Returns the message of the 409 and its causes, each with a message and a field path.
pub fn conflict_message(conflicts: &Conflicts) -> (String, Vec<(String, String)>) {
    let mut causes = Vec::new();
    let mut lines = Vec::new();
    for (id, set) in conflicts {
        let manager = id.describe();
        lines.push(format!("conflicts with {manager}:"));
        set.for_each(&mut |path: &[PathElement]| {
            let path = path::display(path);
            lines.push(format!("- {path}"));
            causes.push((format!("conflict with {manager}"), path));
        });
    }
    let message = match causes.as_slice() {
        [(what, path)] => format!("Apply failed with 1 conflict: {what}: {path}"),
        _ => format!("Apply failed with {} conflicts: {}", causes.len(), lines.join("\n")),
    };
    (message, causes)
}
