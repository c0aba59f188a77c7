//! Jobs.

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names::validate_labels;
use serde_json::{Map, Value, json};

use super::immutable::kept;
use super::selector::{generated_labels, own_pods, select_own_pods};
use super::{failure_policy, status};
use crate::fields::{empty_list_to_null, invalid, required, shown_at};
use crate::pods::defaults::default_template;
use crate::pods::gated::drop_gated;
use crate::pods::spec::validate_spec;
use crate::strategy::rules::{NONE, Rules};
use crate::workloads::template::labels_of_template;

/// `batch/v1` Job.
pub(crate) const JOB: Rules = Rules {
    drop_gated: |object| {
        drop_gated(object, "/spec/template/spec");
        empty_list_to_null(object, "/spec/podFailurePolicy/rules");
    },
    // kube-apiserver validates an updated Job twice. Only the first pass reports a selector that is not auto-generated.
    repeated_on_update: Some(|error| !error.detail.contains("not auto-generated")),
    orphan_warning: Some(ORPHANED_PODS),
    immutable_fields: &["spec.completionMode", "spec.selector", "spec.backoffLimitPerIndex"],
    // The one selectable field has an older name.
    field: |job, _| shown_at(job, "status.succeeded"),
    zeros: &[("status.successful", "0")],
    unknown_field: Some(|field| format!("field label {field:?} not supported for Job")),
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        labels_of_template(object);
        let Some(spec) = object["spec"].as_object_mut() else { return };
        condition_states(spec);
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
        errors.extend(generated_labels(object));
        errors
    },
    immutable: |object, old| kept(&object["spec"], old),
    status: Some(status::check),
    ..NONE
};

/// Defaults `status` of the conditions of `podFailurePolicy` to `True`.
fn condition_states(spec: &mut Map<String, Value>) {
    let rules = spec.get_mut("podFailurePolicy").and_then(|policy| policy.get_mut("rules"));
    for rule in rules.and_then(Value::as_array_mut).into_iter().flatten() {
        let conditions = rule.get_mut("onPodConditions").and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten().filter(|one| crate::decode::empty(&one["status"])) {
            condition["status"] = "True".into();
        }
    }
}

/// Maximum parallelism of an Indexed Job.
const INDEXED_PARALLELISM_MAX: i64 = 100_000;

/// Maximum length of `managedBy`, in bytes.
const MANAGER_MAX: usize = 63;

/// Validates fields of a Job spec that depend on each other.
pub(crate) fn job(spec: &Value) -> Vec<FieldError> {
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
    let parallelism = spec["parallelism"].as_i64().unwrap_or(0);
    if indexed && parallelism > INDEXED_PARALLELISM_MAX {
        let why = format!(
            "must be less than or equal to {INDEXED_PARALLELISM_MAX} when completion mode is Indexed"
        );
        errors.push(invalid("spec.parallelism", parallelism, why));
    }
    if let Some(manager) = spec["managedBy"].as_str()
        && (!manager.contains('/') || manager.starts_with('/') || manager.ends_with('/'))
    {
        let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(invalid("spec.managedBy", manager, why));
    }
    if spec["managedBy"].as_str().is_some_and(|manager| manager.len() > MANAGER_MAX) {
        let why = format!("may not be more than {MANAGER_MAX} bytes");
        errors.push(FieldError::bare(FieldErrorKind::TooLong, "spec.managedBy", why));
    }
    errors.extend(own_pods(spec));
    failure_policy::success(spec, "spec", &mut errors);
    failure_policy::check(spec, "spec", &mut errors);
    if spec["podFailurePolicy"].is_object() && spec["template"]["spec"]["restartPolicy"] == "OnFailure" {
        let why = "only \"Never\" is supported when podFailurePolicy is specified";
        errors.push(invalid("spec.template.spec.restartPolicy", "OnFailure", why));
    }
    if spec["podFailurePolicy"].is_object()
        && spec["podReplacementPolicy"].as_str().is_some_and(|policy| policy != "Failed")
    {
        let policy = &spec["podReplacementPolicy"];
        errors.push(FieldError::not_supported("spec.podReplacementPolicy", policy, &["Failed".into()]));
    }
    errors
}

/// Requires a restart policy other than `Always`, because the pods of a Job must come to an end.
pub(crate) fn never_always(job: &Value, path: &str) -> Option<FieldError> {
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

/// The warning for a client that deletes a Job without a propagation policy.
const ORPHANED_PODS: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background \
                             to remove them or set propagationPolicy=Orphan to suppress this warning";
