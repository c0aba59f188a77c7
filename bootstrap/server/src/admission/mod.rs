//! Admission of the Cluster API kinds: the rules that upstream implements as webhooks. The API server of this process calls them directly,
//! that of another cluster through `webhooks`. What rules must know about other objects is gathered before (`facts`).

mod facts;

use std::borrow::Cow;

use machinery::field::FieldError;
use machinery::meta;
use machinery::status::{GroupResource, Status};
use registry::{Admission, Definition, Operation, Propagation, Review, Subresource};
use schemas::admission::{Facts, Features, check_deletion, has_deletion_rules};
use serde_json::Value;

pub use facts::Objects;
use facts::{Change, gather};

use crate::controllers::{Selection, unrun};
use crate::names::MANIFEST_HASH;
use crate::undo;

/// Defaults and validation of the Cluster API kinds.
#[derive(Debug, Clone, Default)]
pub struct ClusterApiAdmission {
    /// The enabled feature gates.
    pub features: Features,
    /// The controllers that run in this process. A client that creates an object whose Pods would not run gets a warning.
    pub controllers: Selection,
}

/// A write of an object, as the rules see it.
pub struct Write<'a> {
    /// The definition of the resource that is written.
    pub definition: &'a Definition,
    /// The version of the objects.
    pub version: &'a str,
    /// The subresource that is written.
    pub subresource: Subresource,
    /// Whether the object is created, changed or deleted.
    pub operation: Operation,
    /// The name of the object.
    pub name: &'a str,
    /// Whether nothing is stored.
    pub dry_run: bool,
    /// `propagationPolicy` of a deletion, if the request has one.
    pub propagation: Option<&'a str>,
    /// The object before the write; `None` for a creation.
    pub old: Option<&'a Value>,
}

impl ClusterApiAdmission {
    /// Sets the defaults of `object`. Other objects are read from `objects`.
    ///
    /// # Errors
    /// The refusal that the client gets.
    pub fn set_defaults(
        &self,
        write: &Write<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
        objects: &dyn Objects,
    ) -> Result<(), Status> {
        if !write.concerns() {
            return Ok(());
        }
        let Write { definition, version, .. } = write;
        let (group, kind) = (&definition.group, &definition.kind);
        // Before defaults are set, as they replace what the stored version does not have.
        let found = schemas::conversion::check(group, object);
        warnings.extend(found.map_err(|errors| write.invalid(&errors))?);
        let old = write.old.map(|old| write.in_stored_version(old));
        let mut stored = definition.converted(object.take(), &definition.storage_version);
        let facts = self.facts(write, &stored, old.as_deref(), objects);
        let outcome = schemas::admission::set_defaults(group, kind, &mut stored, old.as_deref(), &facts);
        *object = definition.converted(stored, version);
        outcome.map_err(|errors| write.invalid(&errors))
    }

    /// Checks the rules of an object with defaults, or those of a deletion. Other objects are read from `objects`.
    ///
    /// # Errors
    /// The refusal that the client gets.
    pub fn check(
        &self,
        write: &Write<'_>,
        object: &Value,
        warnings: &mut Vec<String>,
        objects: &dyn Objects,
    ) -> Result<(), Status> {
        let (group, kind) = (&write.definition.group, &write.definition.kind);
        if write.subresource == Subresource::Scale {
            let replicas = object["spec"]["replicas"].as_i64().unwrap_or_default();
            let scaled = schemas::admission::admit_scale(group, kind, replicas, object);
            return scaled.map_err(|errors| write.invalid(&errors));
        }
        if write.operation == Operation::Delete && has_deletion_rules(group, kind) {
            let old = write.in_stored_version(write.old.unwrap_or(object));
            let facts = self.facts(write, &old, None, objects);
            return check_deletion(group, kind, &old, write.propagation, &facts).map_err(|why| {
                let resource = GroupResource { group, resource: &write.definition.plural };
                Status::forbidden(resource, write.name, &format!("{kind} cannot be deleted: {why}"))
            });
        }
        if !write.concerns() {
            return Ok(());
        }
        let old = write.old.map(|old| write.in_stored_version(old));
        let stored = write.in_stored_version(object);
        let facts = self.facts(write, &stored, old.as_deref(), objects);
        let (features, dry_run) = (self.features, write.dry_run);
        let found =
            schemas::admission::check(group, kind, &stored, old.as_deref(), dry_run, features, &facts);
        warnings.extend(found.map_err(|errors| write.invalid(&errors))?);
        Ok(())
    }

    fn facts(&self, write: &Write<'_>, new: &Value, old: Option<&Value>, objects: &dyn Objects) -> Facts {
        let Write { definition, subresource, operation, .. } = *write;
        let change =
            Change { group: &definition.group, kind: &definition.kind, subresource, operation, new, old };
        gather(&change, self.features, objects)
    }
}

impl<'a> Write<'a> {
    fn of(review: &Review<'a>) -> Self {
        Self {
            definition: &review.served.definition,
            version: &review.served.version.name,
            subresource: review.subresource,
            operation: review.operation,
            name: review.name,
            dry_run: review.dry_run,
            propagation: review.propagation.map(Propagation::name),
            old: review.old,
        }
    }

    /// Returns the object in the version for which the rules are written, as upstream's webhooks get it.
    fn in_stored_version<'o>(&self, object: &'o Value) -> Cow<'o, Value> {
        if self.version == self.definition.storage_version {
            return Cow::Borrowed(object);
        }
        Cow::Owned(self.definition.converted(object.clone(), &self.definition.storage_version))
    }

    fn invalid(&self, errors: &[FieldError]) -> Status {
        Status::invalid(&self.definition.group, &self.definition.kind, self.name, errors)
    }

    fn concerns(&self) -> bool {
        self.subresource == Subresource::None && self.operation != Operation::Delete
    }
}

impl Admission for ClusterApiAdmission {
    fn mutate(
        &self,
        review: &Review<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        if !is_ours(review) {
            return Ok(());
        }
        self.set_defaults(&Write::of(review), object, warnings, &review.reader)
    }

    fn validate(
        &self,
        review: &Review<'_>,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        let definition = &review.served.definition;
        let is_new = review.operation == Operation::Create && review.subresource == Subresource::None;
        if is_new {
            let is_of_provider = || is_of_provider(review, object);
            warnings.extend(unrun(&definition.group, &definition.kind, &self.controllers, is_of_provider));
        }
        if !is_ours(review) {
            return Ok(());
        }
        let write = Write::of(review);
        self.check(&write, object, warnings, &review.reader)?;
        let waits = self.controllers.names().contains(&"core");
        if review.operation == Operation::Delete && waits && !meta::is_deleting(object) {
            warnings.extend(undo::advice(definition, object));
        }
        Ok(())
    }
}

/// Returns whether an object is in a Namespace whose Pods run here.
fn is_of_provider(review: &Review<'_>, object: &Value) -> bool {
    let namespace = review.reader.get("", "Namespace", "", meta::namespace(object));
    let labels = namespace.ok().flatten().map(|namespace| namespace["metadata"]["labels"].clone());
    labels.is_some_and(|labels| labels.get(engine::names::PROVIDER).is_some())
}

/// Returns whether the definition is firstlight's. Definitions that somebody else installed under the same names come with their own
/// webhooks.
fn is_ours(review: &Review<'_>) -> bool {
    review.served.definition.annotations.contains_key(MANIFEST_HASH)
}
