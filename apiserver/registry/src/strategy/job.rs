//! Jobs and CronJobs.

use machinery::field::{FieldError, FieldErrorKind};
use machinery::meta;
use machinery::names::validate_labels;
use serde_json::{Map, Value, json};

use super::default::{invalid, required};
use super::failure_policy;
use super::known::{NONE, Rules};
use super::pod::default_template;
use super::pod_spec::validate_spec;
use super::security::internal;
use super::workload::labels_of_template;

/// `batch/v1` Job.
pub(super) const JOB: Rules = Rules {
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
    status: Some(super::job_status::check),
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

/// `batch/v1` CronJob.
pub(super) const CRON_JOB: Rules = Rules {
    normalize: |object| default_template(&mut object["spec"]["jobTemplate"]["spec"]["template"]),
    validate: |object| {
        let job = &object["spec"]["jobTemplate"]["spec"];
        let labels = &job["template"]["metadata"]["labels"];
        let mut errors = validate_labels(Some(labels), "spec.jobTemplate.spec.template.labels");
        errors.extend(schedule(object));
        errors.extend(validate_spec(&job["template"]["spec"], "spec.jobTemplate.spec.template.spec"));
        errors.extend(never_always(job, "spec.jobTemplate.spec"));
        let path = "spec.jobTemplate.spec";
        if job["completionMode"] == "Indexed" && job["completions"].is_null() {
            errors.push(required(format!("{path}.completions"), "when completion mode is Indexed"));
        }
        failure_policy::success(job, path, &mut errors);
        failure_policy::check(job, path, &mut errors);
        if !job["selector"].is_null() {
            let why = "`selector` will be auto-generated";
            errors.push(invalid(format!("{path}.selector"), job["selector"].clone(), why));
        }
        if job["manualSelector"] == true {
            let allowed = ["nil".into(), "false".into()];
            let field = format!("{path}.manualSelector");
            errors.push(FieldError::not_supported(field, &true.into(), &allowed));
        }
        errors
    },
    ..NONE
};

/// Maximum length of a CronJob's name, which leaves room for the suffix of its Jobs' names.
const CRON_JOB_NAME_MAX: usize = 52;

/// Validates name, schedule and time zone of a CronJob.
fn schedule(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if meta::name(object).len() > CRON_JOB_NAME_MAX {
        let why = format!("must be no more than {CRON_JOB_NAME_MAX} characters");
        errors.push(invalid("metadata.name", meta::name(object), why));
    }
    let spec = &object["spec"];
    let text = spec["schedule"].as_str().unwrap_or_default();
    if text.contains("TZ") {
        let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(invalid("spec.schedule", text, why));
    } else if !text.is_empty()
        && let Err(why) = super::cron::check(text)
    {
        errors.push(invalid("spec.schedule", text, why));
    }
    let why = match spec["timeZone"].as_str() {
        Some("") => "timeZone must be nil or non-empty string".to_owned(),
        Some(zone) if zone.eq_ignore_ascii_case("local") => {
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".to_owned()
        }
        Some(zone) if !super::cron::is_zone(zone) => format!("unknown time zone {zone}"),
        _ => return errors,
    };
    errors.push(invalid("spec.timeZone", spec["timeZone"].clone(), why));
    errors
}

/// Returns errors for changes that an update of a Job must not make.
fn kept(spec: &Value, old: &Value) -> Vec<FieldError> {
    let before = &old["spec"];
    let mut errors = Vec::new();
    if spec["completions"] != before["completions"] {
        let elastic = spec["completionMode"] == "Indexed";
        if elastic && spec["completions"].is_null() {
            // [`job`] already reports missing completions.
        } else if !elastic {
            errors.push(invalid("spec.completions", spec["completions"].clone(), "field is immutable"));
        } else if spec["completions"] != spec["parallelism"] {
            let why = "can only be modified in tandem with spec.parallelism";
            errors.push(invalid("spec.completions", spec["completions"].clone(), why));
        }
    }
    if spec["managedBy"] != before["managedBy"] {
        errors.push(invalid("spec.managedBy", spec["managedBy"].clone(), "field is immutable"));
    }
    if spec["successPolicy"] != before["successPolicy"] {
        let policy = &spec["successPolicy"];
        errors.push(internal(
            "spec.successPolicy".into(),
            "?batch.SuccessPolicy",
            policy,
            "field is immutable",
        ));
    }
    // The scheduling fields of a Job that is suspended and has not started may change.
    let idle = before["suspend"] == true && old["status"]["startTime"].is_null();
    let template = |spec: &Value| {
        let mut template = spec["template"].clone();
        if idle {
            for field in ["nodeSelector", "affinity", "tolerations", "schedulingGates"] {
                template["spec"][field] = Value::Null;
            }
            template["metadata"]["labels"] = Value::Null;
            template["metadata"]["annotations"] = Value::Null;
            for list in ["containers", "initContainers"] {
                for container in
                    template["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten()
                {
                    container["resources"] = Value::Null;
                }
            }
        }
        template
    };
    if spec["podFailurePolicy"] != before["podFailurePolicy"] {
        let (field, policy) = ("spec.podFailurePolicy".to_owned(), &spec["podFailurePolicy"]);
        errors.push(internal(field, "?batch.PodFailurePolicy", policy, "field is immutable"));
    }
    if template(spec) != template(before) {
        let why = "field is immutable";
        let (field, ty, value) = match idle {
            true => ("spec.template.spec", "core.PodSpec", &spec["template"]["spec"]),
            false => ("spec.template", "core.PodTemplateSpec", &spec["template"]),
        };
        errors.push(internal(field.into(), ty, value, why));
    }
    errors
}

/// Maximum parallelism of an Indexed Job.
const INDEXED_PARALLELISM_MAX: i64 = 100_000;

/// Maximum length of `managedBy`, in bytes.
const MANAGER_MAX: usize = 63;

/// The label with the UID of the Job, by which the Job selects its pods.
const OWN_PODS: &str = "batch.kubernetes.io/controller-uid";

/// Validates that the selector matches the template, and that only a Job with `manualSelector` has its own selector.
fn own_pods(spec: &Value) -> Vec<FieldError> {
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
fn generated_labels(object: &Value) -> Vec<FieldError> {
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

/// Validates fields of a Job spec that depend on each other.
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

/// Generates the selector and the labels for the Job's UID, unless `manualSelector` is set.
fn select_own_pods(object: &mut Value) {
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
