//! Errors of the options of `get`, `list` and `watch`.

use machinery::field::FieldError;
use machinery::status::Status;

/// Returns the error message for a malformed `resourceVersion`.
pub(crate) fn unparsable(text: &str) -> String {
    format!(
        "resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"
    )
}

/// Returns 422 for the options of a list or watch if there are errors.
pub(crate) fn invalid_options(errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid("meta.k8s.io", "ListOptions", "", errors))
}
