//! Validation of access reviews, with the messages of Kubernetes' validation of `authorization.k8s.io`.

use machinery::field::{FieldError, FieldErrorKind};
use machinery::meta;
use machinery::names::{label_value, qualified_name};
use machinery::patch::shown;
use machinery::selector::{FieldSelector, LabelSelector};
use serde_json::{Map, Value};

/// The group of access reviews.
pub(crate) const GROUP: &str = "authorization.k8s.io";

const LOCAL: &str = "LocalSubjectAccessReview";
const PATH: &str = "spec.nonResourceAttributes";

/// Creates an error that shows `value`, which is already JSON text.
fn shows(field: &str, value: String, detail: &str) -> FieldError {
    let mut error = FieldError::new(FieldErrorKind::Invalid, field, &Value::Null, detail);
    error.value = Some(value);
    error
}

fn invalid(field: &str, value: &Value, detail: &str) -> FieldError {
    FieldError::new(FieldErrorKind::Invalid, field, value, detail)
}

/// Validates a review of this kind.
pub(crate) fn check(kind: &str, review: &Value) -> Vec<FieldError> {
    let spec = &review["spec"];
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut errors = Vec::new();
    if resource.is_object() && path.is_object() {
        let detail = "cannot be specified in combination with resourceAttributes";
        errors.push(shows(PATH, shown_path(path), detail));
    }
    if !resource.is_object() && !path.is_object() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(invalid("spec.resourceAttributes", &Value::Null, detail));
    }
    let filled = |field: &str| spec[field].as_str().is_some_and(|text| !text.is_empty());
    let groups = spec["groups"].as_array().is_some_and(|list| !list.is_empty());
    if kind != "SelfSubjectAccessReview" && !filled("user") && !groups {
        let detail = "at least one of user or group must be specified";
        errors.push(invalid("spec.user", &"".into(), detail));
    }
    for (name, labels) in [("fieldSelector", false), ("labelSelector", true)] {
        let field = format!("spec.resourceAttributes.{name}");
        selector(&resource[name], &field, labels, &mut errors);
    }
    metadata(kind, review, &mut errors);
    if kind == LOCAL {
        local(review, resource, path, &mut errors);
    }
    errors
}

/// Formats the value like Go prints the internal type.
fn shown_path(path: &Value) -> String {
    let text = |field: &str| Value::from(path[field].as_str().unwrap_or_default());
    format!("{{\"Path\":{},\"Verb\":{}}}", text("path"), text("verb"))
}

fn selector(selector: &Value, field: &str, labels: bool, errors: &mut Vec<FieldError>) {
    if !selector.is_object() {
        return;
    }
    let requirements: &[Value] = selector["requirements"].as_array().map_or(&[], Vec::as_slice);
    let raw = selector["rawSelector"].as_str().unwrap_or_default();
    if !raw.is_empty() && !requirements.is_empty() {
        let detail = "may not specified at the same time as requirements";
        errors.push(invalid(&format!("{field}.rawSelector"), &raw.into(), detail));
    }
    if raw.is_empty() && requirements.is_empty() {
        let detail = format!("when {field} is specified, requirements or rawSelector is required");
        errors.push(FieldError::bare(FieldErrorKind::Required, format!("{field}.requirements"), detail));
    }
    for (index, requirement) in requirements.iter().enumerate() {
        check_requirement(requirement, &format!("{field}.requirements[{index}]"), labels, errors);
    }
}

/// Checks one requirement of a selector; unknown operators are allowed.
fn check_requirement(requirement: &Value, field: &str, labels: bool, errors: &mut Vec<FieldError>) {
    let values = requirement["values"].as_array().is_some_and(|list| !list.is_empty());
    match requirement["operator"].as_str().unwrap_or_default() {
        "In" | "NotIn" if !values => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::bare(FieldErrorKind::Required, format!("{field}.values"), detail));
        }
        "Exists" | "DoesNotExist" if values => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::bare(FieldErrorKind::Forbidden, format!("{field}.values"), detail));
        }
        _ => {}
    }
    let key = requirement["key"].as_str().unwrap_or_default();
    if labels {
        let problems = qualified_name(key);
        errors.extend(problems.iter().map(|why| invalid(&format!("{field}.key"), &key.into(), why)));
    } else if key.is_empty() {
        errors.push(FieldError::bare(FieldErrorKind::Required, format!("{field}.key"), "must be specified"));
    }
    for (index, value) in requirement["values"].as_array().into_iter().flatten().enumerate() {
        let problems = if labels { label_value(value.as_str().unwrap_or_default()) } else { Vec::new() };
        let field = format!("{field}.values[{index}]");
        errors.extend(problems.iter().map(|why| invalid(&field, value, why)));
    }
}

/// Checks that a review has no metadata except what the server adds.
fn metadata(kind: &str, review: &Value, errors: &mut Vec<FieldError>) {
    let empty = Map::new();
    let metadata = review["metadata"].as_object().unwrap_or(&empty);
    let local = kind == LOCAL;
    let own = |key: &str| key == "managedFields" || (local && key == "namespace");
    if metadata.keys().any(|key| !own(key)) {
        let detail = if local { "must be empty except for namespace" } else { "must be empty" };
        errors.push(shows("metadata", shown::metadata(metadata), detail));
    }
}

fn local(review: &Value, resource: &Value, path: &Value, errors: &mut Vec<FieldError>) {
    let namespace = resource["namespace"].as_str().unwrap_or_default();
    if resource.is_object() && namespace != meta::namespace(review) {
        let detail = "must match metadata.namespace";
        errors.push(invalid("spec.resourceAttributes.namespace", &namespace.into(), detail));
    }
    if path.is_object() {
        errors.push(shows(PATH, shown_path(path), "disallowed on this kind of request"));
    }
}

/// Returns the evaluation error for selectors that cannot be parsed; RBAC ignores selectors anyway.
pub(crate) fn ignored_selectors(resource: &Value) -> String {
    let mut ignored = Vec::new();
    for (name, labels) in [("fieldSelector", false), ("labelSelector", true)] {
        let selector = &resource[name];
        let raw = selector["rawSelector"].as_str().unwrap_or_default();
        let requirements = selector["requirements"].as_array().into_iter().flatten();
        let (good, bad): (Vec<&Value>, Vec<&Value>) =
            requirements.partition(|requirement| is_readable(requirement, labels));
        let unreadable = match labels {
            true => LabelSelector::parse(raw).is_err(),
            false => FieldSelector::parse(raw).is_err(),
        };
        if !bad.is_empty() || unreadable {
            let partially = if good.is_empty() { "" } else { "partially " };
            ignored.push(format!("spec.resourceAttributes.{name} {partially}ignored due to parse error"));
        }
    }
    ignored.join("; ")
}

fn is_readable(requirement: &Value, labels: bool) -> bool {
    let values = requirement["values"].as_array().map_or(0, Vec::len);
    match requirement["operator"].as_str().unwrap_or_default() {
        // A field requirement compares with exactly one value.
        "In" | "NotIn" => labels || values == 1,
        "Exists" | "DoesNotExist" => labels,
        _ => false,
    }
}
