//! The kinds of patches, and the configuration of an apply.

use machinery::decode;
use machinery::status::Status;
use registry::{Context, FieldValidation, Input, Served};
use serde_json::Value;

use crate::request::asked::Asked;
use crate::request::input;

/// The kind of a patch, by its content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchKind {
    /// Returns the kind of patch that the content type names.
    ///
    /// # Errors
    /// 415 for an unsupported content type.
    pub(crate) fn of(asked: &Asked<'_>, served: &Served) -> Result<Self, Status> {
        const CUSTOM: &str =
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
        const BUILT_IN: &str = "application/json-patch+json, application/merge-patch+json, \
                                application/strategic-merge-patch+json, application/apply-patch+yaml";
        let built_in = served.definition.built_in;
        match input::content_type(&asked.parts.headers) {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if built_in => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => Err(Status::unsupported_media_type(if built_in { BUILT_IN } else { CUSTOM })),
        }
    }
}

/// Decodes the configuration in the body of an apply: YAML, usually written as JSON.
pub(super) fn configuration(body: &[u8], context: &mut Context) -> Result<Input, Status> {
    let undecodable = |why: String| Status::bad_request(format!("error decoding YAML: {why}"));
    // JSON is decoded directly, for speed; errors come from the YAML decoder.
    let mut decoded = match decode::json(body) {
        Ok(decoded) if decoded.problems.is_empty() => decoded,
        _ => {
            decode::yaml(body).map_err(|why| undecodable(format!("error converting YAML to JSON: {why}")))?
        }
    };
    if decoded.value.is_null() {
        decoded.value = Value::Object(serde_json::Map::new());
    }
    if !decoded.value.is_object() {
        let found = input::go_type(&decoded.value);
        return Err(undecodable(format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )));
    }
    if let Some(problem) = decoded.strict_error() {
        match context.field_validation {
            FieldValidation::Strict => {
                return Err(Status::bad_request(format!(
                    "error strict decoding YAML: error converting YAML to JSON: {problem}"
                )));
            }
            FieldValidation::Warn => context.warnings.append(&mut decoded.problems),
            FieldValidation::Ignore => {}
        }
    }
    Ok(Input::new(decoded.value))
}
