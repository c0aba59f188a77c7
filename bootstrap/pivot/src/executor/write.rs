//! Writes single objects at the target.

use machinery::url::encode;
use serde_json::{Value, json};

use super::{Pivot, path};
use crate::comparison::Comparison;
use crate::desired::Desired;
use crate::error::{Error, Result};
use crate::kinds::Kind;
use crate::limits;
use crate::names;
use crate::normal::{difference, managers, without_status};
use crate::object::Key;
use crate::server::PatchKind;

impl Pivot {
    /// Creates an object; `None` if its name exists already.
    pub(super) async fn create(&self, kind: &Kind, key: &Key, wanted: &Desired) -> Result<Option<Value>> {
        let path = format!(
            "{}?fieldManager={}&fieldValidation=Ignore",
            kind.path(&key.namespace),
            encode(wanted.manager())
        );
        match self.target.create(&format!("create {key}"), &path, &wanted.object).await {
            Ok(created) => Ok(Some(created)),
            Err(error) if error.is_already_exists() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Handles a name that exists although preflight found it free: the object was created by this pivot before an answer was lost or
    /// the process was killed, or by somebody else.
    pub(super) async fn take_over(&self, kind: &Kind, key: &Key, wanted: &Desired) -> Result<Value> {
        let there: Value = self.target.get(&format!("get {key}"), &path(kind, key)).await?;
        let found = Comparison::but_for_owners(&wanted.object, &there);
        if let Some(difference) = found.difference {
            return Err(Error::Different {
                object: key.to_string(),
                difference,
                advice: "Somebody else has made an object of this name at the target since the pivot began: delete it there and --resume, \
                         or --roll-back",
            });
        }
        if found.added.is_empty() {
            return Ok(there);
        }
        // The target has added fields, or the source removed some after the object was written.
        self.replace(kind, key, wanted, &there).await
    }

    async fn replace(&self, kind: &Kind, key: &Key, wanted: &Desired, there: &Value) -> Result<Value> {
        let mut object = wanted.object.clone();
        for field in ["uid", "resourceVersion"] {
            object["metadata"][field] = there["metadata"][field].clone();
        }
        let path =
            format!("{}?fieldManager={}&fieldValidation=Ignore", path(kind, key), encode(wanted.manager()));
        self.target.replace(&format!("update {key}"), &path, &object).await
    }

    /// Updates a copy that was made earlier.
    pub(super) async fn update(&self, kind: &Kind, key: &Key, wanted: &Desired, uid: &str) -> Result<Value> {
        let mut attempt = 0;
        loop {
            let there = self.target.find(&format!("get {key}"), &path(kind, key)).await?;
            let Some(there) = there else {
                return match self.create(kind, key, wanted).await? {
                    Some(created) => Ok(created),
                    None => self.take_over(kind, key, wanted).await,
                };
            };
            if uid_of(&there) != uid {
                return self.take_over(kind, key, wanted).await;
            }
            if difference(&without_status(&wanted.object), &without_status(&there)).is_none() {
                return Ok(there);
            }
            match self.replace(kind, key, wanted, &there).await {
                Err(error) if error.is_conflict() && attempt < limits::RETRIES => attempt += 1,
                outcome => return outcome,
            }
        }
    }

    /// Writes the status; `None` if there is nothing to write.
    pub(super) async fn write_status(
        &self,
        kind: &Kind,
        key: &Key,
        wanted: &Desired,
        there: &Value,
    ) -> Result<Option<Value>> {
        let generation = there["metadata"]["generation"].as_i64().unwrap_or(1);
        let Some(status) = wanted.status(generation).filter(|_| kind.status) else { return Ok(None) };
        if there["status"] == status {
            return Ok(None);
        }
        let path = format!("{}/status?fieldManager={}", path(kind, key), encode(wanted.status_manager()));
        let patch = json!([{"op": "add", "path": "/status", "value": status}]);
        let what = format!("write the status of {key}");
        self.target.patch(&what, &path, PatchKind::Json, &patch).await.map(Some)
    }

    pub(super) async fn restore_managers(
        &self,
        kind: &Kind,
        key: &Key,
        wanted: &Desired,
        there: &Value,
    ) -> Result<()> {
        let original = json!({"metadata": {"managedFields": wanted.managed_fields}});
        if managers(&original).is_empty() || managers(&original) == managers(there) {
            return Ok(());
        }
        let path = format!("{}?fieldManager={}", path(kind, key), names::FIELD_MANAGER);
        let what = format!("restore the field managers of {key}");
        self.target.patch(&what, &path, PatchKind::Merge, &original).await.map(drop)
    }
}

pub(super) fn uid_of(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}
