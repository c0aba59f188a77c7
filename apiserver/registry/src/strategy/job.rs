//! Jobs and CronJobs.

use machinery::field::FieldError;
use machinery::meta;
use machinery::names::validate_labels;
use serde_json::{Map, Value, json};

use super::default::{invalid, required};
use super::known::{NONE, Rules};
use super::pod::{default_template, validate_spec};
use super::workload::labels_of_template;

/// `batch/v1` Job
pub(super) const JOB: Rules = Rules {
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        labels_of_template(object);
        let Some(spec) = object["spec"].as_object_mut() else { return };
        if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
            spec.insert("completions".into(), 1.into());
        }
        let per_index = spec.contains_key("backoffLimitPerIndex");
        let policy = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
        for (name, value) in [
            ("parallelism", json!(1)),
            ("backoffLimit", json!(if per_index { i64::from(i32::MAX) } else { 6 })),
            ("completionMode", json!("NonIndexed")),
            ("suspend", json!(false)),
            ("podReplacementPolicy", json!(policy)),
            ("manualSelector", json!(false)),
        ] {
            spec.entry(name).or_insert(value);
        }
    },
    prepare: select_own_pods,
    validate: |object| {
        let labels = &object["spec"]["template"]["metadata"]["labels"];
        let mut errors = validate_labels(Some(labels), "spec.template.labels");
        errors.extend(validate_spec(&object["spec"]["template"]["spec"], "spec.template.spec"));
        errors.extend(never_always(&object["spec"], "spec"));
        errors.extend(job(&object["spec"]));
        errors
    },
    immutable: |object, old| {
        let mut errors = Vec::new();
        if object["spec"]["template"] != old["spec"]["template"] {
            errors.push(invalid("spec.template", Value::Null, "field is immutable"));
        }
        errors
    },
    ..NONE
};

/// `batch/v1` CronJob
pub(super) const CRON_JOB: Rules = Rules {
    normalize: |object| default_template(&mut object["spec"]["jobTemplate"]["spec"]["template"]),
    validate: |object| {
        let job = &object["spec"]["jobTemplate"]["spec"];
        let labels = &job["template"]["metadata"]["labels"];
        let mut errors = validate_labels(Some(labels), "spec.jobTemplate.spec.template.labels");
        errors.extend(schedule(object));
        errors.extend(validate_spec(&job["template"]["spec"], "spec.jobTemplate.spec.template.spec"));
        errors.extend(never_always(job, "spec.jobTemplate.spec"));
        errors
    },
    ..NONE
};

/// Names of CronJobs leave room for what the names of their Jobs add.
const CRON_JOB_NAME_MAX: usize = 52;

/// When a CronJob runs.
fn schedule(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if meta::name(object).len() > CRON_JOB_NAME_MAX {
        let why = format!("must be no more than {CRON_JOB_NAME_MAX} characters");
        errors.push(invalid("metadata.name", meta::name(object), why));
    }
    let text = object["spec"]["schedule"].as_str().unwrap_or_default();
    let fields = text.split_whitespace().count();
    if !text.is_empty() && !text.starts_with('@') && fields != 5 {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let why = format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" "));
        errors.push(invalid("spec.schedule", text, why));
    }
    if object["spec"]["timeZone"] == "" {
        errors.push(invalid("spec.timeZone", "", "timeZone must be nil or non-empty string"));
    }
    errors
}

/// What belongs together in a Job.
fn job(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let indexed = spec["completionMode"] == "Indexed";
    if indexed && spec["completions"].is_null() {
        errors.push(required("spec.completions", "when completion mode is Indexed"));
    }
    for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
        if !indexed && !spec[field].is_null() {
            let why = "requires indexed completion mode";
            errors.push(invalid(format!("spec.{field}"), spec[field].clone(), why));
        }
    }
    if !spec["maxFailedIndexes"].is_null() && spec["backoffLimitPerIndex"].is_null() {
        errors.push(required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified"));
    }
    if let (Some(most), Some(all)) = (spec["maxFailedIndexes"].as_i64(), spec["completions"].as_i64())
        && most > all
    {
        errors.push(invalid("spec.maxFailedIndexes", most, "must be less than or equal to completions"));
    }
    if spec["podFailurePolicy"].is_object()
        && spec["podReplacementPolicy"].as_str().is_some_and(|policy| policy != "Failed")
    {
        let policy = &spec["podReplacementPolicy"];
        errors.push(FieldError::not_supported("spec.podReplacementPolicy", policy, &["Failed".into()]));
    }
    errors
}

/// A job's pods come to an end.
fn never_always(job: &Value, path: &str) -> Option<FieldError> {
    let policy = &job["template"]["spec"]["restartPolicy"];
    let allowed = ["OnFailure".into(), "Never".into()];
    (!allowed.contains(policy)).then(|| {
        let field = format!("{path}.template.spec.restartPolicy");
        match policy.as_str() {
            Some("Always") | None => required(field, "valid values: \"OnFailure\", \"Never\""),
            Some(_) => FieldError::not_supported(field, policy, &allowed),
        }
    })
}

/// A Job selects the pods that carry its UID, unless it says how it wants to.
fn select_own_pods(object: &mut Value) {
    let spec = &object["spec"];
    if spec["manualSelector"] == true || !spec["selector"].is_null() {
        return;
    }
    let (uid, name) = (meta::uid(object).to_owned(), meta::name(object).to_owned());
    let shared = object["metadata"]["labels"].is_object()
        && object["metadata"]["labels"] == object["spec"]["template"]["metadata"]["labels"];
    let Some(metadata) = meta::metadata_mut(&mut object["spec"]["template"]) else { return };
    let labels = metadata.entry("labels").or_insert_with(|| Value::Object(Map::new()));
    for (key, value) in [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ] {
        labels[key] = value.as_str().into();
    }
    object["spec"]["selector"] = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
    // Labels that were taken from the template follow it.
    if shared {
        object["metadata"]["labels"] = object["spec"]["template"]["metadata"]["labels"].clone();
    }
}
