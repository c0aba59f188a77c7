//! The labels and the selector that connect a Job with its pods.

use machinery::field::FieldError;
use machinery::meta;
use serde_json::{Map, Value, json};

use crate::fields::{invalid, required};

/// The label with the UID of the Job, by which the Job selects its pods.
const OWN_PODS: &str = "batch.kubernetes.io/controller-uid";

/// Validates that the selector matches the template, and that only a Job with `manualSelector` has its own selector.
pub(crate) fn own_pods(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let labels_only =
        spec["selector"].as_object().is_some_and(|selector| selector.keys().eq(["matchLabels"]));
    let own = spec["selector"]["matchLabels"].as_object();
    let generated = labels_only && own.is_some_and(|labels| labels.keys().eq([OWN_PODS]));
    if spec["manualSelector"] != true && !spec["selector"].is_null() && !generated {
        errors.push(invalid("spec.selector", spec["selector"].clone(), "`selector` not auto-generated"));
    }
    let wanted = spec["selector"]["matchLabels"].as_object();
    let labels = &spec["template"]["metadata"]["labels"];
    if spec["selector"].is_null() {
        errors.push(required("spec.selector", ""));
    }
    let fits = wanted.is_some_and(|wanted| wanted.iter().all(|(key, value)| labels[key] == *value))
        || spec["selector"]["matchExpressions"].is_array();
    if !fits {
        let why = "`selector` does not match template `labels`";
        errors.push(invalid("spec.template.metadata.labels", labels.clone(), why));
    }
    errors
}

/// Validates that labels of the template that the server generates have the generated values.
pub(crate) fn generated_labels(object: &Value) -> Vec<FieldError> {
    if object["spec"]["manualSelector"] == true {
        return Vec::new();
    }
    let labels = &object["spec"]["template"]["metadata"]["labels"];
    let (uid, name) = (meta::uid(object), meta::name(object));
    let wanted = [
        ("controller-uid", uid),
        ("job-name", name),
        (OWN_PODS, uid),
        ("batch.kubernetes.io/job-name", name),
    ];
    let mut errors = Vec::new();
    for (key, value) in wanted {
        if !value.is_empty() && labels[key].as_str().is_some_and(|found| found != value) {
            let field = format!("spec.template.metadata.labels[{key}]");
            errors.push(invalid(field, labels.clone(), format!("must be '{value}'")));
        }
    }
    errors
}

/// Generates the selector and the labels for the Job's UID, unless `manualSelector` is set.
pub(crate) fn select_own_pods(object: &mut Value) {
    if object["spec"]["manualSelector"] == true {
        return;
    }
    let (uid, name) = (meta::uid(object).to_owned(), meta::name(object).to_owned());
    let labels = &object["metadata"]["labels"];
    let shared = crate::decode::empty(labels) || *labels == object["spec"]["template"]["metadata"]["labels"];
    if !object["spec"]["template"]["metadata"].is_object() {
        object["spec"]["template"]["metadata"] = json!({});
    }
    let Some(metadata) = meta::metadata_mut(&mut object["spec"]["template"]) else { return };
    let labels = metadata.entry("labels").or_insert_with(|| Value::Object(Map::new()));
    for (key, value) in [
        (OWN_PODS, &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ] {
        if labels[key].is_null() {
            labels[key] = value.as_str().into();
        }
    }
    if object["spec"]["selector"]["matchLabels"][OWN_PODS].is_null() {
        object["spec"]["selector"]["matchLabels"][OWN_PODS] = uid.into();
    }
    // Labels that were defaulted from the template must have the generated labels, too.
    if shared {
        object["metadata"]["labels"] = object["spec"]["template"]["metadata"]["labels"].clone();
    }
}
