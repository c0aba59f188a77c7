//! Labels and annotations that a Machine and its objects got from a template, and that the template no longer has.
//!
//! The field manager that created an object owns its first labels, so an apply by the field manager of its metadata does not remove them. They are
//! found by the Machine, which still has them.
//!
//! Invariant: a controller removes them from the objects of a Machine before it removes them from the Machine. So a process that ends in between
//! finds them again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery::hash::fnv1a_32;
use serde_json::{Map, Value, json};

use crate::applied::Applied;
use crate::error::Result;
use crate::in_place::UPDATE_IN_PROGRESS;
use crate::object::{self, Kind, NamespacedName};
use crate::objects::Objects;

/// The keys of labels and annotations that are to be removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// Keys of labels.
    pub labels: BTreeSet<String>,
    /// Keys of annotations.
    pub annotations: BTreeSet<String>,
}

impl Removed {
    /// Returns the labels and annotations to remove from `part`: the Machine has them with the same values, and `wanted` lacks them. Returns `None` if there is nothing to remove.
    /// A Machine that is updated in place has marks that no template has, so nothing of it is removed.
    pub fn of(machine: &ObjectMeta, part: &ObjectMeta, wanted: &ObjectMeta) -> Option<Self> {
        let is_updated =
            machine.annotations.as_ref().is_some_and(|present| present.contains_key(UPDATE_IN_PROGRESS));
        let removed = Self {
            labels: common(&machine.labels, &part.labels, &wanted.labels),
            annotations: common(&machine.annotations, &part.annotations, &wanted.annotations),
        };
        (!is_updated && removed != Self::default()).then_some(removed)
    }

    /// Removes these labels and annotations from `object`, unless somebody else than `managers` owns them. What others own, or have set to
    /// another value since, stays, and `applied` remembers it.
    ///
    /// # Errors
    /// Returns the API server's refusal, or the client's failure to reach it. A conflict means that the object has changed meanwhile.
    pub async fn remove<K: Kind>(
        &self,
        objects: &Objects<K>,
        applied: &Applied,
        managers: &[&str],
        object: &Arc<K>,
    ) -> Result<()> {
        let (uid, version) = (object::uid(object.as_ref()), object::version(object.as_ref()));
        let hash = fnv1a_32(format!("{self:?}").as_bytes());
        if applied.is_left(uid, hash, version) {
            return Ok(());
        }
        let key = NamespacedName::of(object.as_ref());
        let whole = objects.get_whole(&key).await?;
        let owned = |field: &str, keys: &BTreeSet<String>| -> Map<String, Value> {
            let keys = keys.iter().filter(|key| is_owned_by(&whole, field, key, managers));
            keys.map(|key| (key.clone(), Value::Null)).collect()
        };
        let (labels, annotations) = (owned("labels", &self.labels), owned("annotations", &self.annotations));
        let is_same = whole["metadata"]["uid"] == uid;
        if !is_same || labels.is_empty() && annotations.is_empty() {
            applied.leave(uid, hash, version);
            return Ok(());
        }
        let resource_version = &whole["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": resource_version, "labels": labels, "annotations": annotations}});
        objects.merge(&key, None, patch).await?;
        Ok(())
    }
}

type Texts = Option<BTreeMap<String, String>>;

fn common(machine: &Texts, part: &Texts, wanted: &Texts) -> BTreeSet<String> {
    let has = |texts: &Texts, key: &str| texts.as_ref().is_some_and(|texts| texts.contains_key(key));
    let of_part = part.iter().flatten();
    let common = of_part.filter(|(key, value)| {
        let of_machine = machine.as_ref().and_then(|texts| texts.get(*key));
        of_machine == Some(value) && !has(wanted, key)
    });
    common.map(|(key, _)| key.clone()).collect()
}

/// Returns whether one of `managers` owns the label or annotation, and nobody else does.
pub fn is_owned_by(object: &Value, field: &str, key: &str, managers: &[&str]) -> bool {
    let entries = object["metadata"]["managedFields"].as_array();
    let owns = |entry: &&Value| {
        entry["fieldsV1"]["f:metadata"][format!("f:{field}")].get(format!("f:{key}")).is_some()
    };
    let mut owners =
        entries.into_iter().flatten().filter(owns).map(|entry| entry["manager"].as_str()).peekable();
    owners.peek().is_some() && owners.all(|owner| owner.is_some_and(|owner| managers.contains(&owner)))
}
