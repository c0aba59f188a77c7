//! Admission of the Cluster API kinds: the rules that upstream implements as webhooks, called in this process.

use std::borrow::Cow;

use machinery::field::FieldError;
use machinery::status::Status;
use registry::{Admission, Operation, Review, Subresource};
use schemas::admission::Features;
use serde_json::Value;

use crate::controllers::{Selection, is_workload, unimplemented};
use crate::names::MANIFEST_HASH;

/// Defaults and validation of the Cluster API kinds.
#[derive(Debug, Clone, Default)]
pub struct ClusterApiAdmission {
    /// The enabled feature gates.
    pub features: Features,
    /// The controllers that run in this process. A client that creates an object of a kind that they do not implement gets a warning.
    pub controllers: Selection,
}

impl Admission for ClusterApiAdmission {
    fn mutate(
        &self,
        review: &Review<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        if !concerns(review) {
            return Ok(());
        }
        let definition = &review.served.definition;
        let (group, kind) = (&definition.group, &definition.kind);
        // Before defaults are set, as they replace what the stored version does not have.
        let found = schemas::conversion::check(group, object);
        warnings.extend(found.map_err(|errors| invalid(review, &errors))?);
        let old = review.old.map(|old| in_stored_version(review, old));
        let (version, stored_version) = (&review.served.version.name, &definition.storage_version);
        let mut stored = definition.converted(object.take(), stored_version);
        let outcome = schemas::admission::set_defaults(group, kind, &mut stored, old.as_deref());
        *object = definition.converted(stored, version);
        outcome.map_err(|errors| invalid(review, &errors))
    }

    fn validate(
        &self,
        review: &Review<'_>,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        let definition = &review.served.definition;
        let (group, kind) = (&definition.group, &definition.kind);
        let is_new = review.operation == Operation::Create && review.subresource == Subresource::None;
        if is_new && is_workload(group, kind, &self.controllers) {
            warnings.push(format!("no Pod runs on this server: the {kind} is only stored"));
        }
        if is_ours(review) && review.subresource == Subresource::Scale {
            let replicas = object["spec"]["replicas"].as_i64().unwrap_or_default();
            let scaled = schemas::admission::admit_scale(group, kind, replicas, object);
            return scaled.map_err(|errors| invalid(review, &errors));
        }
        if !concerns(review) {
            return Ok(());
        }
        let old = review.old.map(|old| in_stored_version(review, old));
        let stored = in_stored_version(review, object);
        let found =
            schemas::admission::check(group, kind, &stored, old.as_deref(), review.dry_run, self.features);
        warnings.extend(found.map_err(|errors| invalid(review, &errors))?);
        if is_new && unimplemented(group, kind, &self.controllers) {
            warnings.push(format!(
                "no controller of this server reconciles {kind} ({group}); the object is only stored"
            ));
        }
        Ok(())
    }
}

/// Returns the object in the version for which the rules are written, as upstream's webhooks get it.
fn in_stored_version<'a>(review: &Review<'_>, object: &'a Value) -> Cow<'a, Value> {
    let definition = &review.served.definition;
    if review.served.version.name == definition.storage_version {
        return Cow::Borrowed(object);
    }
    Cow::Owned(definition.converted(object.clone(), &definition.storage_version))
}

fn invalid(review: &Review<'_>, errors: &[FieldError]) -> Status {
    let definition = &review.served.definition;
    Status::invalid(&definition.group, &definition.kind, review.name, errors)
}

/// Returns whether the definition is firstlight's. Definitions that somebody else installed under the same names come with their own
/// webhooks.
fn is_ours(review: &Review<'_>) -> bool {
    review.served.definition.annotations.contains_key(MANIFEST_HASH)
}

fn concerns(review: &Review<'_>) -> bool {
    is_ours(review) && review.subresource == Subresource::None && review.operation != Operation::Delete
}
