//! What runs pods from a template: Deployments and their like, Jobs.

use machinery::field::FieldError;
use machinery::meta;
use machinery::selector::LabelSelector;
use serde_json::{Map, Value, json};

use super::default::{invalid, required};
use super::known::{NONE, Rules};
use super::pod::{default_template, validate_spec};

/// `apps/v1` Deployment
pub(super) const DEPLOYMENT: Rules = Rules {
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        rolling(&mut object["spec"]["strategy"], &json!({"maxUnavailable": "25%", "maxSurge": "25%"}));
    },
    validate: |object| validate(object, "deployment"),
    immutable: same_selector,
    ..NONE
};

/// `apps/v1` ReplicaSet
pub(super) const REPLICA_SET: Rules = Rules {
    normalize: |object| default_template(&mut object["spec"]["template"]),
    validate: |object| validate(object, "deployment"),
    immutable: same_selector,
    ..NONE
};

/// `apps/v1` DaemonSet
pub(super) const DAEMON_SET: Rules = Rules {
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        rolling(&mut object["spec"]["updateStrategy"], &json!({"maxUnavailable": 1, "maxSurge": 0}));
        if template_generation(object).is_none() {
            set_template_generation(object, 0);
        }
    },
    prepare: |object| set_template_generation(object, 1),
    prepare_update: |object, old| {
        let before = template_generation(old).unwrap_or(1);
        let changed = object["spec"]["template"] != old["spec"]["template"];
        set_template_generation(object, before + i64::from(changed));
    },
    validate: |object| validate(object, "daemonset"),
    immutable: same_selector,
    ..NONE
};

/// `apps/v1` StatefulSet
pub(super) const STATEFUL_SET: Rules = Rules {
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        rolling(&mut object["spec"]["updateStrategy"], &json!({"partition": 0}));
        for claim in object["spec"]["volumeClaimTemplates"].as_array_mut().into_iter().flatten() {
            let Some(claim) = claim.as_object_mut() else { continue };
            claim.insert("apiVersion".into(), "v1".into());
            claim.insert("kind".into(), "PersistentVolumeClaim".into());
            claim.insert("status".into(), json!({"phase": "Pending"}));
        }
    },
    validate: |object| validate(object, "statefulset"),
    immutable: same_selector,
    ..NONE
};

/// `v1` ReplicationController
pub(super) const REPLICATION_CONTROLLER: Rules = Rules {
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        let labels = object["spec"]["template"]["metadata"]["labels"].clone();
        if labels.is_object() && object["spec"]["selector"].is_null() {
            object["spec"]["selector"] = labels;
        }
        labels_of_template(object);
    },
    validate: |object| validate_spec(&object["spec"]["template"]["spec"], "spec.template.spec"),
    ..NONE
};

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
        let mut errors = validate_spec(&object["spec"]["template"]["spec"], "spec.template.spec");
        errors.extend(never_always(&object["spec"], "spec"));
        errors
    },
    ..NONE
};

/// `batch/v1` CronJob
pub(super) const CRON_JOB: Rules = Rules {
    normalize: |object| default_template(&mut object["spec"]["jobTemplate"]["spec"]["template"]),
    validate: |object| {
        let job = &object["spec"]["jobTemplate"]["spec"];
        let mut errors = validate_spec(&job["template"]["spec"], "spec.jobTemplate.spec.template.spec");
        errors.extend(never_always(job, "spec.jobTemplate.spec"));
        errors
    },
    ..NONE
};

/// What counts the changes of a DaemonSet's template, from before `generation` did.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn template_generation(object: &Value) -> Option<i64> {
    object["metadata"]["annotations"][TEMPLATE_GENERATION].as_str()?.parse().ok()
}

fn set_template_generation(object: &mut Value, generation: i64) {
    let Some(metadata) = meta::metadata_mut(object) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
    annotations[TEMPLATE_GENERATION] = generation.to_string().into();
}

/// Without labels of its own an object has those of its pods.
fn labels_of_template(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    let Some(metadata) = meta::metadata_mut(object) else { return };
    let none = metadata.get("labels").and_then(Value::as_object).is_none_or(Map::is_empty);
    if none && labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        metadata.insert("labels".into(), labels);
    }
}

/// The numbers of a rolling update, where that is the strategy.
fn rolling(strategy: &mut Value, defaults: &Value) {
    if strategy["type"] != "RollingUpdate" {
        return;
    }
    let Some(strategy) = strategy.as_object_mut() else { return };
    let found = strategy.entry("rollingUpdate").or_insert_with(|| Value::Object(Map::new()));
    let Some(found) = found.as_object_mut() else { return };
    for (name, value) in defaults.as_object().into_iter().flatten() {
        found.entry(name).or_insert_with(|| value.clone());
    }
}

fn validate(object: &Value, kind: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (spec, path) = (&object["spec"], "spec.selector");
    let selector = &spec["selector"];
    if selector.is_null() {
        errors.push(required(path, ""));
    } else if selector.as_object().is_none_or(Map::is_empty) {
        errors.push(invalid(path, selector.clone(), format!("empty selector is invalid for {kind}")));
    }
    match LabelSelector::from_object(selector) {
        Err(problem) => errors.push(invalid(path, selector.clone(), problem)),
        Ok(parsed) => {
            let labels = &spec["template"]["metadata"]["labels"];
            if !parsed.is_empty() && !parsed.matches(labels.as_object()) {
                let shown = if labels.is_null() { json!({}) } else { labels.clone() };
                let why = "`selector` does not match template `labels`";
                errors.push(invalid("spec.template.metadata.labels", shown, why));
            }
        }
    }
    errors.extend(validate_spec(&spec["template"]["spec"], "spec.template.spec"));
    let policy = &spec["template"]["spec"]["restartPolicy"];
    if policy.is_string() && policy != "Always" {
        let field = "spec.template.spec.restartPolicy";
        errors.push(FieldError::not_supported(field, policy, &["Always".into()]));
    }
    if spec["replicas"].as_i64().is_some_and(|replicas| replicas < 0) {
        let why = "must be greater than or equal to 0";
        errors.push(invalid("spec.replicas", spec["replicas"].clone(), why));
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

fn same_selector(object: &Value, old: &Value) -> Vec<FieldError> {
    let (new, old) = (&object["spec"]["selector"], &old["spec"]["selector"]);
    if new == old {
        return Vec::new();
    }
    vec![invalid("spec.selector", new.clone(), "field is immutable")]
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
