//! Limits that an error reports: the time of a request, and those of pure code, for example of parsers. That code has no metrics, so its
//! limits are counted where the error becomes a response.

use std::sync::LazyLock;

use machinery::limits::{MAX_ANNOTATIONS_SIZE, MAX_SELECTOR_TERMS};
use machinery::status::Status;

use crate::limits::FIELD_MANAGER_BYTES;
use crate::metrics::Metrics;

/// Parts of error messages, and the names of the limits that they report.
static MESSAGES: LazyLock<Vec<(String, &'static str)>> = LazyLock::new(|| {
    let fixed = [
        ("exceeded max depth", "max_depth"),
        ("nested deeper than", "max_depth"),
        ("budget breached: Aliases", "max_yaml_aliases"),
        ("budget breached: Nodes", "max_yaml_nodes"),
        ("budget breached: ScalarBytes", "max_yaml_text"),
        ("budget breached: Depth", "max_depth"),
        ("the paths of the fields are too long in total", "max_paths_text"),
        ("maximum operations in a JSON patch is", "max_json_patch_operations"),
        ("the accumulated size increase of copy is", "max_json_patch_copies"),
        ("operations of the JSON patch change too many values", "max_json_patch_values"),
        ("take too long for an object of this size", "max_validation_work"),
        ("exceeds size limit of", "max_pattern_size"),
        ("filters are nested", "max_path_filters"),
        ("expression recursion limit exceeded", "max_cel_depth"),
        ("expression code point size exceeds limit", "max_cel_source"),
        ("actual cost limit exceeded", "max_cel_call_cost"),
        ("running out of cost budget", "max_cel_call_cost"),
        ("with the defaults inside of it, it is larger than", "max_defaults_size"),
        ("its defaults have more than", "max_defaults_size"),
        ("defaults of the class would make the variables larger", "max_defaults_size"),
        ("exceeds budget by factor of", "max_cel_estimate"),
        ("spec.variables: Too many", "max_cel_variables"),
        ("length limit exceeded", "webhook_answer_bytes"),
    ];
    let mut messages: Vec<_> = fixed.map(|(text, limit)| (text.to_owned(), limit)).into();
    messages.extend([
        (format!("there are more than {MAX_SELECTOR_TERMS}"), "max_selector_terms"),
        (format!("may not be more than {MAX_ANNOTATIONS_SIZE} bytes"), "max_annotations_size"),
        (format!("may not be more than {FIELD_MANAGER_BYTES} bytes"), "field_manager_bytes"),
    ]);
    messages
});

/// Returns the name of the first limit that the error reports. It is only counted, so a message that quotes such a text from a request
/// does no harm.
pub(crate) fn limit_of(status: &Status) -> Option<&'static str> {
    let may_report = matches!(status.code, 400 | 413 | 422 | 500);
    let reported = || MESSAGES.iter().find(|(text, _)| status.message.contains(text.as_str()));
    may_report.then(reported).flatten().map(|(_, limit)| *limit)
}

/// Returns 504 for a request that reached [`crate::limits::REQUEST`].
pub(crate) fn late(metrics: &Metrics, message: &str) -> Status {
    metrics.limit("request");
    Status::timeout(message)
}
