//! One mutation of a MutatingAdmissionPolicy.

use std::sync::Arc;

use cel::program::{Input, Named};
use kinds::Subresource;
use kinds::definition::Version;
use machinery::patch::{self, Unfit};
use machinery::status::Status;
use machinery::{apply, meta};
use serde_json::Value;

use super::attributes::Attributes;
use super::mutator::{Mutation, PatchKind};
use super::patched::{check_patched, rescaled};
use crate::versions::current::Versions;
use crate::write::decode;

/// What the expression of a mutation has made.
pub(super) enum Made {
    /// The object to be merged.
    Configuration(Value),
    /// The operations of a JSON patch.
    Operations(Vec<Value>),
}

/// Why a mutation fails.
pub(super) enum Failure {
    /// An error, which `failurePolicy` can ignore.
    Error(String),
    /// A refusal of the request.
    Refusal(Status),
}

/// Evaluates the expression of a mutation of `object`.
///
/// # Errors
/// The message of kube-apiserver.
pub(super) fn evaluate(
    mutation: &Mutation,
    variables: Named<'_>,
    input: &Input<'_>,
    object: &Value,
) -> Result<Made, String> {
    let program = mutation.program.as_ref().map_err(Clone::clone)?;
    match mutation.kind {
        PatchKind::Operations => input.operations(variables, program, &mutation.source).map(Made::Operations),
        PatchKind::Configuration => {
            let mut config = input.configuration(variables, program, &mutation.source)?;
            if let Some(fields) = config.as_object_mut() {
                for field in ["apiVersion", "kind"] {
                    fields.insert(field.to_owned(), object[field].clone());
                }
            }
            Ok(Made::Configuration(config))
        }
    }
}

/// Returns `object`, which is in `version`, after a mutation, with its defaults.
pub(super) async fn applied(
    versions: &Versions,
    attributes: &Attributes<'_>,
    version: &Arc<Version>,
    object: &Value,
    made: Made,
) -> Result<Value, Failure> {
    let is_scale = attributes.target.subresource == Subresource::Scale;
    let (patched, is_strict) = match made {
        Made::Configuration(config) => {
            let schema = if is_scale { apply::scale::schema() } else { &version.schema };
            let merged = apply::configure(object, &config, schema);
            (merged.map_err(|why| Failure::Error(format!("error applying patch: {why}")))?, false)
        }
        Made::Operations(operations) => match patch::operations(object, &operations) {
            Ok(patched) => (patched, true),
            // With a test that fails, nothing is patched.
            Err(Unfit::Test) => return Ok(object.clone()),
            Err(Unfit::Reason(why)) => return Err(Failure::Error(format!("JSON Patch: {why}"))),
        },
    };
    if is_scale {
        return Ok(patched);
    }
    decoded(versions, attributes, version, patched, is_strict).await.map_err(Failure::Refusal)
}

/// Decodes a patched object of `version`. A JSON patch may not add fields to a built-in kind that it does not have.
async fn decoded(
    versions: &Versions,
    attributes: &Attributes<'_>,
    version: &Arc<Version>,
    patched: Value,
    is_strict: bool,
) -> Result<Value, Status> {
    let served = attributes.target.served.at(version);
    let definition = &served.definition;
    check_patched(&versions.definitions(), &served, version, &patched).map_err(unconverted)?;
    let mut object = patched;
    if meta::api_version(&object) != served.api_version() {
        object = versions.in_version(definition, version, object).await.map_err(unconverted)?;
    }
    let unknown = decode::shape(&served, &mut object).map_err(Status::internal)?;
    if is_strict && definition.built_in && !unknown.is_empty() {
        return Err(Status::internal(format!("strict decoding error: {}", unknown.join(", "))));
    }
    Ok(object)
}

/// Returns the object of the request after a policy, which has seen it in another version or as a Scale.
///
/// # Errors
/// If the result is not an object of the request.
pub(super) async fn requested(
    versions: &Versions,
    attributes: &Attributes<'_>,
    object: &Value,
    mutated: Value,
) -> Result<Value, Status> {
    let served = attributes.target.served;
    if attributes.target.subresource == Subresource::Scale {
        return rescaled(&attributes.target, object, &mutated);
    }
    if meta::api_version(&mutated) == served.api_version() {
        return Ok(mutated);
    }
    let converted = versions.in_version(&served.definition, &served.version, mutated).await;
    let mut object = converted.map_err(unconverted)?;
    decode::shape(served, &mut object).map_err(Status::internal)?;
    Ok(object)
}

/// Returns the refusal of an object that cannot be converted to that of the request.
pub(super) fn unconverted(status: Status) -> Status {
    match status.message.strip_prefix("Internal error occurred: ") {
        Some(_) => status,
        None => Status::internal(format!("failed to convert object: {}", status.message)),
    }
}
