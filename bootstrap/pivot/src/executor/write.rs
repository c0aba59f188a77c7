//! Writes single copies at the target.

use machinery::url::encode;
use serde_json::{Value, json};

use crate::comparison::Comparison;
use crate::desired::Desired;
use crate::error::{Error, Result};
use crate::kinds::Kind;
use crate::limits;
use crate::names;
use crate::normal::{difference, managers, without_status};
use crate::object::Key;
use crate::server::{PatchKind, Server};

/// Writes one copy.
pub(super) struct Writer<'a> {
    pub(super) target: &'a Server,
    pub(super) kind: &'a Kind,
    pub(super) key: &'a Key,
    pub(super) wanted: &'a Desired,
}

impl Writer<'_> {
    /// Creates the object; `None` if its name exists already.
    pub(super) async fn create(&self) -> Result<Option<Value>> {
        let Self { target, kind, key, wanted } = self;
        let path = format!(
            "{}?fieldManager={}&fieldValidation=Ignore",
            kind.path(&key.namespace),
            encode(wanted.manager())
        );
        match target.create(&format!("create {key}"), &path, &wanted.object).await {
            Ok(created) => Ok(Some(created)),
            Err(error) if error.is_already_exists() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Handles a name that exists although preflight found it free: the object was created by this pivot before an answer was lost or
    /// the process was killed, or by somebody else.
    pub(super) async fn take_over(&self) -> Result<Value> {
        let Self { target, kind, key, wanted } = self;
        let there: Value = target.get(&format!("get {key}"), &key.path(kind)).await?;
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
        self.replace(&there).await
    }

    async fn replace(&self, there: &Value) -> Result<Value> {
        let Self { target, kind, key, wanted } = self;
        let mut object = wanted.object.clone();
        for field in ["uid", "resourceVersion"] {
            object["metadata"][field] = there["metadata"][field].clone();
        }
        let path =
            format!("{}?fieldManager={}&fieldValidation=Ignore", key.path(kind), encode(wanted.manager()));
        target.replace(&format!("update {key}"), &path, &object).await
    }

    /// Updates a copy that was made earlier.
    pub(super) async fn update(&self, uid: &str) -> Result<Value> {
        let Self { target, kind, key, wanted } = self;
        let mut attempt = 0;
        loop {
            let there = target.find(&format!("get {key}"), &key.path(kind)).await?;
            let Some(there) = there else {
                return match self.create().await? {
                    Some(created) => Ok(created),
                    None => self.take_over().await,
                };
            };
            if uid_of(&there) != uid {
                return self.take_over().await;
            }
            if difference(&without_status(&wanted.object), &without_status(&there)).is_none() {
                return Ok(there);
            }
            match self.replace(&there).await {
                Err(error) if error.is_conflict() && attempt < limits::RETRIES => attempt += 1,
                outcome => return outcome,
            }
        }
    }

    /// Writes the status; `None` if there is nothing to write.
    pub(super) async fn write_status(&self, there: &Value) -> Result<Option<Value>> {
        let Self { target, kind, key, wanted } = self;
        let generation = there["metadata"]["generation"].as_i64().unwrap_or(1);
        let Some(status) = wanted.status(generation).filter(|_| kind.status) else { return Ok(None) };
        if there["status"] == status {
            return Ok(None);
        }
        let path = format!("{}/status?fieldManager={}", key.path(kind), encode(wanted.status_manager()));
        let patch = json!([{"op": "add", "path": "/status", "value": status}]);
        let what = format!("write the status of {key}");
        target.patch(&what, &path, PatchKind::Json, &patch).await.map(Some)
    }

    pub(super) async fn restore_managers(&self, there: &Value) -> Result<()> {
        let Self { target, kind, key, wanted } = self;
        let original = json!({"metadata": {"managedFields": wanted.managed_fields}});
        if managers(&original).is_empty() || managers(&original) == managers(there) {
            return Ok(());
        }
        let what = format!("restore the field managers of {key}");
        target.patch(&what, &patch_path(kind, key), PatchKind::Merge, &original).await.map(drop)
    }
}

pub(super) fn uid_of(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Returns the URL path of a patch of an object.
pub(super) fn patch_path(kind: &Kind, key: &Key) -> String {
    format!("{}?fieldManager={}", key.path(kind), names::FIELD_MANAGER)
}
