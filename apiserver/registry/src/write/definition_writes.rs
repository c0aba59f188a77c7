//! Effects of writes of CustomResourceDefinitions: before the write is answered, the resource is served, changed or
//! removed.

use apiextensions::crd;
use kinds::Subresource;
use machinery::meta;
use serde_json::Value;

use super::changed::{Changed, Ownership};
use super::writes::Writes;
use crate::context::Context;
use crate::storage::entries::Entry;
use crate::storage::keys;
use crate::target::Target;
use crate::versions::definitions::{CRDS, Origin, Served, is_crd};

impl Writes {
    /// Handles a created or updated object. Called after each such write.
    pub(crate) async fn wrote(&self, served: &Served, entry: &Entry) {
        if is_crd(served) {
            self.serve(served, entry).await;
        }
    }

    /// Lets the stored definition `name` take effect, or its removal, if the request that has written it did not come to that.
    pub(crate) async fn follow(&self, name: &str) {
        let Some(served) = self.versions().definitions().stored(CRDS.0, CRDS.1) else { return };
        let key = keys::object(&served.definition, "", name);
        let (plural, group) = name.split_once('.').unwrap_or((name, ""));
        let current = self.versions().definitions().stored(group, plural);
        match self.storage().get(&key) {
            Some(entry) if current.as_ref().is_none_or(|current| current.changed_at() < entry.revision) => {
                self.serve(&served, &entry).await;
            }
            None => {
                if let Some(current) = current.filter(|current| !current.definition.built_in) {
                    self.removed(&served, name, current.uid()).await;
                }
            }
            Some(_) => {}
        }
    }

    /// Handles a removed object, which had this UID. Called after each removal. Another object may have the name already.
    pub(crate) async fn removed(&self, served: &Served, name: &str, uid: &str) {
        let Some((plural, group)) = name.split_once('.').filter(|_| is_crd(served)) else { return };
        self.versions().redefine(|definitions| definitions.remove(group, plural, uid));
        // Another definition may be waiting for a name that has become free.
        let (stored, _) = self.storage().range(&keys::namespace(&served.definition, ""));
        for other in stored {
            let entry = Entry { revision: other.mod_revision.0, value: other.value.clone() };
            let waits = machinery::decode::own::<Value>(&entry.value).is_ok_and(|other| {
                let conditions = other["status"]["conditions"].as_array();
                other["spec"]["group"] == group
                    && conditions.is_some_and(|list| {
                        list.iter()
                            .any(|found| found["type"] == "NamesAccepted" && found["status"] == "False")
                    })
            });
            if waits {
                self.serve(served, &entry).await;
            }
        }
    }

    /// Sets the conditions of a CustomResourceDefinition as its controllers would, and serves the resource that it
    /// defines.
    async fn serve(&self, served: &Served, entry: &Entry) {
        let Ok(mut object) = machinery::decode::own::<Value>(&entry.value) else { return };
        let (name, uid) = (meta::name(&object).to_owned(), meta::uid(&object).to_owned());
        let before = object["status"].clone();
        self.establish(&mut object);
        if object["status"] != before {
            // Frees the object during the write: definitions can be large, and many can be written at the same time.
            drop(object);
            // The write of the status calls `wrote` again, which serves the definition.
            let target = Target { served, namespace: "", name: &name, subresource: Subresource::Status };
            let mut context = Context::start("kube-apiserver");
            let written = Box::pin(self.change(&mut context, &target, |_, live| {
                let mut object = live.clone();
                self.establish(&mut object);
                Ok(Changed { object, ownership: Ownership::Note, expected_uid: Some(uid.clone()) })
            }));
            if let Err(status) = written.await
                && !matches!(status.reason, "NotFound" | "Conflict")
            {
                tracing::warn!(name, %status, "the conditions of a definition could not be written");
            }
            return;
        }
        if !crd::is_established(&object) {
            return;
        }
        match self.versions().read_definition(&object) {
            Ok(definition) => {
                let origin = Origin::of(&object, entry.revision);
                let key = keys::object(&served.definition, "", &name);
                self.versions().redefine(|definitions| {
                    // Whoever has written or removed it since then does the same with what is there now.
                    if self.storage().get(&key).is_some_and(|now| now.revision == entry.revision) {
                        definitions.insert(definition, origin);
                    }
                });
            }
            Err(error) => tracing::error!(name, %error, "a definition cannot be served"),
        }
    }

    /// Updates the status: accepted names and conditions.
    fn establish(&self, object: &mut Value) {
        let now = self.now();
        let taken = self.taken(object);
        crd::accept_names(object, &taken, &now);
        let terminating = object["status"]["conditions"]
            .as_array()
            .is_some_and(|list| list.iter().any(|condition| condition["type"] == "Terminating"));
        if meta::is_deleting(object) && !terminating {
            let message = "CustomResource deletion is in progress";
            crd::set_condition(object, "Terminating", "True", "InstanceDeletionInProgress", message, &now);
        }
    }

    /// Returns the names of other resources in the group.
    fn taken(&self, object: &Value) -> crd::Taken {
        let group = object["spec"]["group"].as_str().unwrap_or_default();
        let own = object["spec"]["names"]["plural"].as_str().unwrap_or_default();
        let mut taken = crd::Taken::default();
        let definitions = self.versions().definitions();
        for other in definitions.iter().filter(|other| other.group == group && other.plural != own) {
            taken.resources.extend([other.plural.clone(), other.singular.clone()]);
            taken.resources.extend(other.short_names.iter().cloned());
            taken.kinds.extend([other.kind.clone(), other.list_kind.clone()]);
        }
        taken
    }
}
