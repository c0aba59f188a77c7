//! Workloads that run pods from a template, and PodDisruptionBudgets.

use std::collections::BTreeSet;

use machinery::field::FieldError;
use machinery::meta;
use machinery::names::validate_labels;
use machinery::selector::LabelSelector;
use serde_json::{Map, Value, json};

use super::default::{forbidden, invalid, required};
use super::known::{NONE, Rules};
use super::pod::default_template;
use super::pod_spec::validate_spec;
use super::security::internal;
use super::{counters, storage};

/// `apps/v1` Deployment.
pub(super) const DEPLOYMENT: Rules = Rules {
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        rolling(&mut object["spec"]["strategy"], &json!({"maxUnavailable": "25%", "maxSurge": "25%"}));
    },
    validate: |object| {
        let mut errors = validate(object, "deployment");
        errors.extend(rollout(&object["spec"]));
        errors
    },
    immutable: same_selector,
    status: Some(counters::of_deployment),
    prepare_status: |object, old| {
        let Some(metadata) = meta::metadata_mut(object) else { return };
        match old["metadata"].get("labels") {
            Some(labels) => drop(metadata.insert("labels".into(), labels.clone())),
            None => drop(metadata.remove("labels")),
        }
    },
    ..NONE
};

/// `apps/v1` ReplicaSet.
pub(super) const REPLICA_SET: Rules = Rules {
    normalize: |object| default_template(&mut object["spec"]["template"]),
    validate: |object| validate(object, "deployment"),
    immutable: same_selector,
    status: Some(counters::of_replica_set),
    ..NONE
};

/// `apps/v1` DaemonSet.
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
    validate: |object| {
        let mut errors = validate(object, "daemonset");
        errors.extend(update_of_daemons(&object["spec"]["updateStrategy"]));
        errors
    },
    immutable: same_selector,
    status: Some(counters::of_daemon_set),
    ..NONE
};

/// `apps/v1` StatefulSet.
pub(super) const STATEFUL_SET: Rules = Rules {
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        rolling(&mut object["spec"]["updateStrategy"], &json!({"partition": 0}));
        let claims = object["spec"].get_mut("volumeClaimTemplates").and_then(Value::as_array_mut);
        for claim in claims.into_iter().flatten() {
            let Some(claim) = claim.as_object_mut() else { continue };
            claim.insert("apiVersion".into(), "v1".into());
            claim.insert("kind".into(), "PersistentVolumeClaim".into());
            claim.insert("status".into(), json!({"phase": "Pending"}));
        }
    },
    validate: |object| {
        let mut errors = validate(object, "statefulset");
        errors.extend(stateful(&object["spec"]));
        errors
    },
    validate_new: |object| {
        let mut errors = Vec::new();
        let templates =
            object["spec"]["volumeClaimTemplates"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (index, claim) in templates.iter().enumerate() {
            storage::claim(&claim["spec"], &format!("spec.volumeClaimTemplates[{index}].spec"), &mut errors);
        }
        errors
    },
    immutable: kept_of_stateful_sets,
    status: Some(counters::of_stateful_set),
    ..NONE
};

/// `v1` ReplicationController.
pub(super) const REPLICATION_CONTROLLER: Rules = Rules {
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        let labels = object["spec"]["template"]["metadata"]["labels"].clone();
        if labels.is_object() && object["spec"]["selector"].is_null() {
            object["spec"]["selector"] = labels;
        }
        if let Some(spec) = object["spec"].as_object_mut()
            && spec.get("minReadySeconds").is_some_and(|seconds| *seconds == 0)
        {
            spec.remove("minReadySeconds");
        }
        labels_of_template(object);
    },
    validate: |object| {
        let (spec, mut errors) = (&object["spec"], Vec::new());
        let (selector, template) = (&spec["selector"], &spec["template"]);
        if selector.as_object().is_none_or(Map::is_empty) {
            errors.push(required("spec.selector", ""));
        }
        if template.is_null() {
            errors.push(required("spec.template", ""));
            return errors;
        }
        let labels = &template["metadata"]["labels"];
        errors.extend(validate_labels(Some(labels), "spec.template.labels"));
        let wanted = selector.as_object().into_iter().flatten();
        if !wanted.clone().all(|(key, value)| labels.get(key) == Some(value)) {
            let why = "`selector` does not match template `labels`";
            errors.push(invalid("spec.template.metadata.labels", labels.clone(), why));
        }
        errors.extend(of_template(spec, "ReplicationController"));
        errors
    },
    status: Some(counters::of_replica_set),
    ..NONE
};

/// `policy/v1` PodDisruptionBudget.
pub(super) const BUDGET: Rules = Rules {
    validate: |object| {
        let spec = &object["spec"];
        let mut errors = Vec::new();
        if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
            let why = "minAvailable and maxUnavailable cannot be both set";
            errors.push(internal("spec".into(), "policy.PodDisruptionBudgetSpec", spec, why));
        }
        for field in ["minAvailable", "maxUnavailable"] {
            errors.extend(at_most_all(&spec[field], &format!("spec.{field}")));
        }
        errors
    },
    status: Some(counters::of_budget),
    ..NONE
};

/// Refuses a percentage above 100.
fn at_most_all(amount: &Value, path: &str) -> Option<FieldError> {
    let percent = amount.as_str()?.strip_suffix('%')?.parse::<u64>().ok()?;
    (percent > 100).then(|| invalid(path, amount.clone(), "must not be greater than 100%"))
}

/// The annotation that counts changes of a DaemonSet's template. It is older than `metadata.generation`.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn template_generation(object: &Value) -> Option<i64> {
    object["metadata"]["annotations"][TEMPLATE_GENERATION].as_str()?.parse().ok()
}

fn set_template_generation(object: &mut Value, generation: i64) {
    let Some(metadata) = meta::metadata_mut(object) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
    annotations[TEMPLATE_GENERATION] = generation.to_string().into();
}

/// Copies the labels of the pod template to an object without labels.
pub(super) fn labels_of_template(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    let Some(metadata) = meta::metadata_mut(object) else { return };
    let none = metadata.get("labels").and_then(Value::as_object).is_none_or(Map::is_empty);
    if none && labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        metadata.insert("labels".into(), labels);
    }
}

/// Sets the defaults of a rolling update. With another strategy, missing numbers of a given `rollingUpdate` become 0.
fn rolling(strategy: &mut Value, defaults: &Value) {
    let zeros = strategy["type"] != "RollingUpdate";
    let Some(strategy) = strategy.as_object_mut() else { return };
    if zeros {
        // The numbers have no effect with this strategy.
        let Some(found) = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut) else { return };
        for name in defaults.as_object().into_iter().flatten().map(|(name, _)| name) {
            found.entry(name).or_insert_with(|| 0.into());
        }
        return;
    }
    let found = strategy.entry("rollingUpdate").or_insert_with(|| Value::Object(Map::new()));
    let Some(found) = found.as_object_mut() else { return };
    for (name, value) in defaults.as_object().into_iter().flatten() {
        found.entry(name).or_insert_with(|| value.clone());
    }
}

fn validate(object: &Value, kind: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (spec, path) = (&object["spec"], "spec.selector");
    let (selector, template) = (&spec["selector"], &spec["template"]);
    if selector.is_null() {
        if kind != "daemonset" {
            errors.push(required(path, ""));
        }
    } else if selector.as_object().is_none_or(Map::is_empty) {
        errors.push(invalid(path, selector.clone(), format!("empty selector is invalid for {kind}")));
    }
    let labels = &template["metadata"]["labels"];
    errors.extend(validate_labels(Some(labels), "spec.template.labels"));
    match LabelSelector::from_object(selector) {
        Err(_) if kind == "daemonset" => {}
        Err(_) => errors
            .push(unreadable(selector, if kind == "statefulset" { "" } else { "invalid label selector" })),
        Ok(parsed) => {
            // A missing selector matches nothing.
            if selector.is_null() || (!parsed.is_empty() && !parsed.matches(labels.as_object())) {
                let why = "`selector` does not match template `labels`";
                errors.push(invalid("spec.template.metadata.labels", labels.clone(), why));
            }
        }
    }
    let shown = match kind {
        "daemonset" => "DaemonSet",
        "statefulset" => "",
        _ => "ReplicaSet",
    };
    errors.extend(of_template(spec, shown));
    errors
}

/// Validates the pod template of a workload. `kind` is the kind in the error about `activeDeadlineSeconds`, or empty if
/// the workload supports that field.
fn of_template(spec: &Value, kind: &str) -> Vec<FieldError> {
    let mut template = spec["template"].clone();
    let path = "spec.template.spec";
    claims(spec, &mut template["spec"]);
    let mut errors = validate_spec(&template["spec"], path);
    let pod = &template["spec"];
    if pod["ephemeralContainers"].as_array().is_some_and(|list| !list.is_empty()) {
        let why = "ephemeral containers not allowed in pod template";
        errors.push(forbidden(format!("{path}.ephemeralContainers"), why));
    }
    let policy = &pod["restartPolicy"];
    if policy.is_string() && policy != "Always" {
        let field = format!("{path}.restartPolicy");
        errors.push(FieldError::not_supported(field, policy, &["Always".into()]));
    }
    if !pod["activeDeadlineSeconds"].is_null() && !kind.is_empty() {
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.push(forbidden(format!("{path}.activeDeadlineSeconds"), why));
    }
    errors
}

/// Adds the claim templates of a StatefulSet to the volumes of its pods, so that mounts of these claims are valid.
fn claims(spec: &Value, pod: &mut Value) {
    let templates = spec["volumeClaimTemplates"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut volumes: Vec<Value> = Vec::new();
    let mut names = BTreeSet::new();
    for claim in templates {
        let name = &claim["metadata"]["name"];
        if !names.insert(name.to_string()) {
            continue;
        }
        volumes.push(json!({"name": name, "persistentVolumeClaim": {"claimName": "claim"}}));
    }
    if !templates.is_empty() {
        let own = pod["volumes"].as_array().cloned().unwrap_or_default();
        let kept = own.into_iter().filter(|one| !names.contains(&one["name"].to_string()));
        let kept: Vec<Value> = kept.collect();
        volumes.extend(kept);
        pod["volumes"] = volumes.into();
    }
}

/// Returns the error for a selector that cannot be parsed, which contains its fields in the order of the Go type.
fn unreadable(selector: &Value, why: &str) -> FieldError {
    let parts = ["matchLabels", "matchExpressions"].into_iter().filter(|part| !selector[*part].is_null());
    let parts: Vec<String> = parts.map(|part| format!("\"{part}\":{}", selector[part])).collect();
    let mut error = invalid("spec.selector", Value::Null, why);
    error.value = Some(format!("{{{}}}", parts.join(",")));
    error
}

/// Validates the strategy of a Deployment and its progress deadline.
fn rollout(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let strategy = &spec["strategy"];
    let shown = |strategy: &Value| {
        let rolling = &strategy["rollingUpdate"];
        let rolling = match rolling.is_object() {
            true => format!(
                "{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}",
                rolling["maxUnavailable"], rolling["maxSurge"]
            ),
            false => "null".to_owned(),
        };
        format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", strategy["type"])
    };
    match strategy["type"].as_str() {
        Some("Recreate") if strategy["rollingUpdate"].is_object() => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            errors.push(forbidden("spec.strategy.rollingUpdate", why));
        }
        Some("Recreate") => {}
        Some("RollingUpdate") => {
            let (path, rolling) = ("spec.strategy.rollingUpdate", &strategy["rollingUpdate"]);
            errors.extend(no_step(path, rolling, "may not be 0 when `maxSurge` is 0"));
            errors.extend(at_most_all(&rolling["maxUnavailable"], &format!("{path}.maxUnavailable")));
        }
        _ => {
            let allowed = ["Recreate".into(), "RollingUpdate".into()];
            let mut error = FieldError::not_supported("spec.strategy", &Value::Null, &allowed);
            error.value = Some(shown(strategy));
            errors.push(error);
        }
    }
    let ready = spec["minReadySeconds"].as_i64().unwrap_or(0);
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64().filter(|deadline| *deadline <= ready) {
        errors.push(invalid(
            "spec.progressDeadlineSeconds",
            deadline,
            "must be greater than minReadySeconds",
        ));
    }
    errors
}

fn is_zero(amount: &Value) -> bool {
    amount.is_null() || *amount == 0 || *amount == "0%"
}

/// Refuses a rolling update that can neither add nor remove pods.
fn no_step(path: &str, rolling: &Value, why: &str) -> Option<FieldError> {
    let stuck = rolling.is_object() && is_zero(&rolling["maxSurge"]) && is_zero(&rolling["maxUnavailable"]);
    stuck.then(|| invalid(format!("{path}.maxUnavailable"), rolling["maxUnavailable"].clone(), why))
}

fn update_of_daemons(strategy: &Value) -> Vec<FieldError> {
    let path = "spec.updateStrategy";
    let rolling = &strategy["rollingUpdate"];
    let field = |name: &str| format!("{path}.rollingUpdate.{name}");
    match strategy["type"].as_str() {
        Some("OnDelete") => Vec::new(),
        Some("RollingUpdate") => match (is_zero(&rolling["maxUnavailable"]), is_zero(&rolling["maxSurge"])) {
            (true, true) => vec![required(field("maxUnavailable"), "cannot be 0 when maxSurge is 0")],
            (false, false) => {
                let why = "may not be set when maxUnavailable is non-zero";
                vec![invalid(field("maxSurge"), rolling["maxSurge"].clone(), why)]
            }
            _ => ["maxUnavailable", "maxSurge"]
                .iter()
                .filter_map(|name| at_most_all(&rolling[*name], &field(name)))
                .collect(),
        },
        _ => {
            let allowed = ["RollingUpdate".into(), "OnDelete".into()];
            let mut error = FieldError::not_supported(path, &Value::Null, &allowed);
            let rolling = match rolling.is_object() {
                true => format!(
                    "{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}",
                    rolling["maxUnavailable"], rolling["maxSurge"]
                ),
                false => "null".to_owned(),
            };
            error.value = Some(format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", strategy["type"]));
            vec![error]
        }
    }
}

/// Validates fields that only StatefulSets have.
fn stateful(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let policy = &spec["podManagementPolicy"];
    if !matches!(policy.as_str(), Some("OrderedReady" | "Parallel")) {
        errors.push(invalid(
            "spec.podManagementPolicy",
            policy.clone(),
            "must be 'OrderedReady' or 'Parallel'",
        ));
    }
    let strategy = &spec["updateStrategy"];
    let rolling = &strategy["rollingUpdate"];
    match strategy["type"].as_str() {
        Some("OnDelete") if rolling.is_object() => {
            let why = "only allowed for updateStrategy 'RollingUpdate'";
            let (field, ty) = ("spec.updateStrategy.rollingUpdate", "apps.RollingUpdateStatefulSetStrategy");
            errors.push(internal(field.into(), ty, rolling, why));
        }
        Some("OnDelete" | "RollingUpdate") => {}
        _ => {
            let mut error =
                invalid("spec.updateStrategy", Value::Null, "must be 'RollingUpdate' or 'OnDelete'");
            let rolling = match rolling.is_object() {
                true => format!(
                    "{{\"Partition\":{},\"MaxUnavailable\":{}}}",
                    rolling["partition"], rolling["maxUnavailable"]
                ),
                false => "null".to_owned(),
            };
            error.value = Some(format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", strategy["type"]));
            errors.push(error);
        }
    }
    errors
}

/// Returns an error if an update of a StatefulSet changes an immutable field of its spec.
fn kept_of_stateful_sets(object: &Value, old: &Value) -> Vec<FieldError> {
    const OPEN: [&str; 7] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    let rest = |object: &Value| {
        let mut spec = object["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|name, _| !OPEN.contains(&name.as_str()));
        }
        spec
    };
    if rest(object) == rest(old) {
        return Vec::new();
    }
    let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
               'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
    vec![forbidden("spec", why)]
}

fn same_selector(object: &Value, old: &Value) -> Vec<FieldError> {
    let (new, old) = (&object["spec"]["selector"], &old["spec"]["selector"]);
    if new == old {
        return Vec::new();
    }
    vec![invalid("spec.selector", new.clone(), "field is immutable")]
}
