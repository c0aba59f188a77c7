//! The patch helper: sends only the difference between an object as it was read and the wanted object.

pub mod difference;

use std::sync::Arc;

use serde_json::{Value, json};

use self::difference::conditions_of;
use crate::conditions;
use crate::error::Result;
use crate::object::{self, Kind, NamespacedName};
use crate::objects::Objects;

pub use self::difference::{Difference, difference, merge_difference};

/// The number of times that a status patch is retried with the latest conditions after a conflict.
const CONFLICT_RETRIES: usize = 5;

/// Applies `changed` to the conditions of `latest`. A change wins if its type is in `owned` or if the
/// condition did not change since `read`.
pub fn merge_conditions(
    read: &[Value],
    latest: &[Value],
    changed: &[(String, Option<Value>)],
    owned: &[&str],
) -> Vec<Value> {
    let find = |list: &[Value], kind: &str| list.iter().find(|condition| condition["type"] == kind).cloned();
    let mut merged = latest.to_vec();
    for (kind, wanted) in changed {
        if !owned.contains(&kind.as_str()) && find(read, kind) != find(latest, kind) {
            continue;
        }
        merged.retain(|condition| condition["type"] != kind.as_str());
        merged.extend(wanted.clone());
    }
    merged
        .sort_by_cached_key(|condition| conditions::position(condition["type"].as_str().unwrap_or_default()));
    merged
}

/// A change of an object that has not been written yet.
pub struct Unwritten {
    /// The object as it was read.
    from: Value,
    difference: Difference,
}

impl Unwritten {
    /// Returns whether only texts differ, see [`Difference::is_text`].
    pub fn is_text(&self) -> bool {
        self.difference.is_text(&self.from)
    }
}

impl<K: Kind> Objects<K> {
    /// Like [`Objects::patch`] for the object without its status, but only if nobody has changed the object since it was read.
    ///
    /// # Errors
    /// [`Error::is_conflict`] if the object has changed.
    pub async fn patch_unchanged(&self, read: &Arc<K>, wanted: &K) -> Result<Arc<K>> {
        let (from, to) = (self.json("patch", read)?, self.json("patch", wanted)?);
        let Some(mut patch) = difference(&from, &to).main else { return Ok(read.clone()) };
        patch["metadata"]["resourceVersion"] = from["metadata"]["resourceVersion"].clone();
        self.merge(&NamespacedName::of(wanted), None, patch).await
    }

    /// Turns `read` into `wanted` with at most one patch of the object and one of its status; sends nothing
    /// if they are equal. Conditions are merged by type: those in `owned` overwrite concurrent changes.
    /// Returns the object as stored.
    pub async fn patch(&self, read: &Arc<K>, wanted: &K, owned: &[&str]) -> Result<Arc<K>>
    where
        K: PartialEq,
    {
        match self.compare(read, wanted)? {
            Some(unwritten) => self.write(read, unwritten, owned).await,
            None => Ok(read.clone()),
        }
    }

    /// Returns the change that turns `read` into `wanted`; `None` if they are equal.
    ///
    /// # Errors
    /// Fails if one of them has no JSON form.
    pub fn compare(&self, read: &K, wanted: &K) -> Result<Option<Unwritten>>
    where
        K: PartialEq,
    {
        if read == wanted {
            return Ok(None);
        }
        let (from, to) = (self.json("patch", read)?, self.json("patch", wanted)?);
        let difference = difference(&from, &to);
        Ok((!difference.is_empty()).then_some(Unwritten { from, difference }))
    }

    /// Writes a change of `read`, as [`Objects::patch`] does.
    ///
    /// # Errors
    /// Returns the API server's refusal, or the client's failure to reach it.
    pub async fn write(&self, read: &Arc<K>, unwritten: Unwritten, owned: &[&str]) -> Result<Arc<K>> {
        let key = NamespacedName::of(read.as_ref());
        let Unwritten { from, difference } = unwritten;
        let mut latest = self.newest(read);
        if let Some(patch) = difference.main {
            latest = self.merge(&key, None, patch).await?;
        }
        if object::is_deleting(latest.as_ref()) && latest.meta().finalizers.as_ref().is_none_or(Vec::is_empty)
        {
            // The patch removed the last finalizer, so the object is gone and its status cannot be written.
            return Ok(latest);
        }
        if difference.status.is_none() && difference.conditions.is_empty() {
            return Ok(latest);
        }
        self.patch_status(&from, latest, difference.status, &difference.conditions, owned).await
    }

    /// Returns the object from the cache if another controller of this process has written it since it was read: a patch of the older one would be a conflict.
    fn newest(&self, read: &Arc<K>) -> Arc<K> {
        let is_newer = |cached: &Arc<K>| {
            object::uid(cached.as_ref()) == object::uid(read.as_ref())
                && object::version(cached.as_ref()) > object::version(read.as_ref())
        };
        self.get(&NamespacedName::of(read.as_ref())).filter(is_newer).unwrap_or_else(|| read.clone())
    }

    /// Returns an object in JSON; `None` if it is still the one that was read.
    fn unless_read(&self, read: &Value, latest: &K) -> Result<Option<Value>> {
        if read["metadata"]["resourceVersion"].as_str() == latest.meta().resource_version.as_deref() {
            return Ok(None);
        }
        self.json("patch", latest).map(Some)
    }

    async fn patch_status(
        &self,
        from: &Value,
        mut latest: Arc<K>,
        status: Option<Value>,
        changed: &[(String, Option<Value>)],
        owned: &[&str],
    ) -> Result<Arc<K>> {
        let key = NamespacedName::of(latest.as_ref());
        for attempt in 0.. {
            let mut patch = json!({"status": status.clone().unwrap_or_else(|| json!({}))});
            if !changed.is_empty() {
                let stored = self.unless_read(from, latest.as_ref())?;
                let stored = conditions_of(stored.as_ref().unwrap_or(from));
                let merged = merge_conditions(conditions_of(from), stored, changed, owned);
                patch["status"]["conditions"] = Value::Array(merged);
                // The list is replaced as a whole, so the stored list must still be the list that was merged.
                patch["metadata"] = json!({"resourceVersion": latest.meta().resource_version});
            }
            match self.merge(&key, Some("status"), patch).await {
                Err(error) if error.is_conflict() && attempt < CONFLICT_RETRIES => {
                    latest = match self.get_live(&key).await? {
                        Some(current) if object::uid(current.as_ref()) == object::uid(latest.as_ref()) => {
                            current
                        }
                        _ => return Err(error),
                    };
                }
                result => return result,
            }
        }
        Ok(latest)
    }
}
