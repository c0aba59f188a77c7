//! Pods and pod templates: the entry points of defaulting and validation.

use serde_json::{Value, json};

use super::admit::admit;
use super::defaults::{containers_mut, default_spec, default_template, tolerate};
use super::gated::drop_gated;
use super::requests::{pod_requests, quality, requests};
use super::spec::validate_spec;
use super::{annotations, parts, scheduling, status, update};
use crate::fields::{forbidden, shown_at};
use crate::strategy::rules::{NONE, Rules};

/// `v1.Pod`.
pub(crate) const POD: Rules = Rules {
    drop_gated: |pod| drop_gated(pod, "/spec"),
    admit,
    admit_update: |pod, old, _| {
        for field in ["priority", "preemptionPolicy"] {
            if pod["spec"][field].is_null()
                && let (Some(spec), Some(before)) = (pod["spec"].as_object_mut(), old["spec"].get(field))
            {
                spec.insert(field.to_owned(), before.clone());
            }
        }
        tolerate(&mut pod["spec"]);
        Ok(())
    },
    grace_period: Some(grace_period),
    normalize: |pod| {
        pod_addresses(pod);
        annotations::forget(pod);
        let Some(spec) = pod.get_mut("spec") else { return };
        for container in containers_mut(spec) {
            requests(container);
        }
        pod_requests(spec);
        default_spec(spec, true);
        if let Some(spec) = spec.as_object_mut() {
            spec.entry("enableServiceLinks").or_insert(true.into());
        }
    },
    prepare: |pod| {
        annotations::app_armor_fields(pod);
        let quality = quality(&pod["spec"]);
        pod["status"] = json!({"phase": "Pending", "qosClass": quality});
        gate(pod);
        scheduling::merge_label_keys(pod);
    },
    validate: |pod| {
        let mut errors = annotations::check(pod);
        errors.extend(validate_spec(&pod["spec"], "spec"));
        tokens(&pod["spec"], &mut errors);
        errors
    },
    validate_new: |pod| {
        let gated = pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
        let placed = pod["spec"]["nodeName"].as_str().is_some_and(|name| !name.is_empty());
        let why = "cannot be set until all schedulingGates have been cleared";
        let mut errors = Vec::new();
        if pod["spec"]["ephemeralContainers"].as_array().is_some_and(|list| !list.is_empty()) {
            errors.push(forbidden("spec.ephemeralContainers", "cannot be set on create"));
        }
        if gated && placed {
            errors.push(forbidden("spec.nodeName", why));
        }
        errors.extend(annotations::app_armor_agrees(pod));
        errors
    },
    field,
    zeros: &[("spec.hostNetwork", "false")],
    prepare_part: parts::prepare,
    validate_part: parts::validate,
    immutable: |pod, old| {
        let mut errors = annotations::kept(pod, old);
        errors.extend(update::kept(pod, old));
        errors
    },
    status: Some(status::check),
    prepare_status: |pod, old| {
        if crate::decode::empty(&pod["status"]["qosClass"]) {
            pod["status"]["qosClass"] = old["status"]["qosClass"].clone();
        }
        let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        for field in ["deletionTimestamp", "ownerReferences"] {
            match old["metadata"].get(field) {
                Some(value) => drop(metadata.insert(field.into(), value.clone())),
                None => drop(metadata.remove(field)),
            }
        }
    },
    ..NONE
};

/// Returns the value of a selectable field.
fn field(pod: &Value, field: &str) -> String {
    match field {
        "spec.host" => shown_at(pod, "spec.nodeName"),
        "status.podIP" => pod["status"]["podIPs"][0]["ip"].as_str().unwrap_or_default().to_owned(),
        // kube-apiserver knows this field and gives it no value.
        "status.podIPs" => String::new(),
        field => shown_at(pod, field),
    }
}

/// Refuses projected service account tokens in a pod without a service account.
fn tokens(spec: &Value, errors: &mut Vec<machinery::field::FieldError>) {
    if !crate::decode::empty(&spec["serviceAccountName"]) {
        return;
    }
    for (index, volume) in spec["volumes"].as_array().into_iter().flatten().enumerate() {
        for (at, source) in volume["projected"]["sources"].as_array().into_iter().flatten().enumerate() {
            if !source["serviceAccountToken"].is_null() {
                let field = format!("spec.volumes[{index}].projected.sources[{at}].serviceAccountToken");
                errors.push(forbidden(field, "must not be specified when serviceAccountName is not set"));
            }
        }
    }
}

/// Keeps `podIP` and the first item of `podIPs` equal.
fn pod_addresses(pod: &mut Value) {
    let Some(status) = pod.get_mut("status").and_then(Value::as_object_mut) else { return };
    let given = |value: Option<&Value>| {
        value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let first = given(status.get("podIPs").and_then(|list| list.get(0)).and_then(|one| one.get("ip")));
    match (given(status.get("podIP")), first) {
        (Some(address), None) => {
            status.insert("podIPs".into(), json!([{"ip": address}]));
        }
        (None, Some(first)) => drop(status.insert("podIP".into(), first.into())),
        (Some(address), Some(first)) if address != first => {
            status.insert("podIPs".into(), json!([{"ip": address}]));
        }
        _ => {}
    }
}

/// Sets the `PodScheduled` condition of a new pod with scheduling gates.
fn gate(pod: &mut Value) {
    if pod["spec"]["schedulingGates"].as_array().is_none_or(Vec::is_empty) {
        return;
    }
    pod["status"]["conditions"] = json!([{
        "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null,
        "lastTransitionTime": pod["metadata"]["creationTimestamp"],
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }]);
}

/// Returns the deletion grace period in seconds: `asked`, or the period of the pod, and 0 if the pod is not scheduled
/// or has finished.
pub(crate) fn grace_period(pod: &Value, asked: Option<i64>) -> i64 {
    let idle = pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty)
        || matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    let period = asked.or_else(|| pod["spec"]["terminationGracePeriodSeconds"].as_i64()).unwrap_or(0);
    match period {
        _ if idle => 0,
        period if period < 0 => 1,
        period => period,
    }
}

/// `v1.PodTemplate`.
pub(crate) const POD_TEMPLATE: Rules = Rules {
    drop_gated: |object| drop_gated(object, "/template/spec"),
    normalize: |object| default_template(&mut object["template"]),
    validate: |object| validate_spec(&object["template"]["spec"], "template.spec"),
    ..NONE
};
