//! A write in the version that a webhook or a policy asks for.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use cel::program::Input;
use kinds::Subresource;
use kinds::definition::Version;
use machinery::status::Status;
use serde_json::Value;

use super::attributes::Attributes;
use crate::versions::current::Versions;

/// One write in the version in which a webhook or policy asks for it.
pub(crate) struct Case {
    /// The object to be written; null for a deletion.
    pub(crate) object: Value,
    /// The object before the write; null for a creation.
    pub(crate) old: Value,
    /// The `AdmissionRequest` without the objects.
    pub(crate) request: Value,
}

impl Case {
    /// Returns the variables of the expressions of policies.
    pub(crate) fn input<'a>(
        &'a self,
        attributes: &'a Attributes<'_>,
        params: &'a Value,
        namespace: &'a Value,
    ) -> Input<'a> {
        let variables = vec![
            ("object", &self.object),
            ("oldObject", &self.old),
            ("request", &self.request),
            ("params", params),
            ("namespaceObject", namespace),
        ];
        Input::new(variables).authorizer(attributes)
    }
}

/// One write in the versions in which policies have asked for it, each of which is converted once.
#[derive(Default)]
pub(crate) struct Cases(BTreeMap<String, Case>);

impl Cases {
    /// Returns the write in `version`.
    ///
    /// # Errors
    /// If the conversion webhook fails.
    pub(crate) async fn of(
        &mut self,
        versions: &Versions,
        attributes: &Attributes<'_>,
        object: &Value,
        version: &Version,
    ) -> Result<&mut Case, Status> {
        match self.0.entry(version.name.clone()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(attributes.case(versions, object, version).await?)),
        }
    }

    /// Forgets all, because the object has changed.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Attributes<'_> {
    /// Returns the object in another version of its resource, or its Scale if the request is for the `scale`
    /// subresource.
    ///
    /// # Errors
    /// If the conversion webhook fails.
    pub(crate) async fn shown(
        &self,
        versions: &Versions,
        object: &Value,
        version: &Version,
    ) -> Result<Value, Status> {
        if object.is_null() {
            return Ok(Value::Null);
        }
        let served = self.target.served;
        if self.target.subresource == Subresource::Scale {
            return Ok(crate::verbs::scale::view::view_or_null(served, object));
        }
        if version.name == served.version.name {
            return Ok(object.clone());
        }
        versions.in_version(&served.definition, version, object.clone()).await
    }

    /// Returns the objects and the `AdmissionRequest` in `version`.
    ///
    /// # Errors
    /// If the conversion webhook fails.
    pub(crate) async fn case(
        &self,
        versions: &Versions,
        object: &Value,
        version: &Version,
    ) -> Result<Case, Status> {
        Ok(Case {
            object: self.shown(versions, self.new_object(object), version).await?,
            old: self.shown(versions, self.old.unwrap_or(&Value::Null), version).await?,
            request: self.request(version, object),
        })
    }
}
