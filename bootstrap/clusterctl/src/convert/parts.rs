//! Converts parts that several kinds have. The rules are those of upstream's conversion from v1beta1 to v1beta2.

use serde_json::{Value, json};

use super::fields::{drop_empty, each, put, reference, rename, seconds, take, template};
use crate::Result;

/// Converts the timeouts for the deletion of a machine.
pub(super) fn deletion(part: &mut Value) -> Result<()> {
    for name in ["nodeDrainTimeout", "nodeVolumeDetachTimeout", "nodeDeletionTimeout"] {
        seconds(part, &format!("/{name}"), &format!("/deletion/{name}Seconds"))?;
    }
    Ok(())
}

/// Converts the spec of a Machine or of a machine template.
pub(super) fn machine_spec(spec: &mut Value) -> Result<()> {
    reference(spec, "/bootstrap/configRef");
    reference(spec, "/infrastructureRef");
    deletion(spec)
}

/// Converts the machine template in an object; `minReadySeconds` moves into it.
pub(super) fn machine_template(object: &mut Value) -> Result<()> {
    if let Some(spec) = object.pointer_mut("/spec/template/spec") {
        machine_spec(spec)?;
    }
    let least = take(object, "/spec/minReadySeconds").filter(|seconds| seconds != 0);
    if let Some(seconds) = least {
        put(object, "/spec/template/spec/minReadySeconds", seconds);
    }
    Ok(())
}

/// Converts the strategy of a MachineDeployment; topologies and classes have its remediation at another place.
pub(super) fn strategy(part: &mut Value, remediation: &str) {
    rename(part, "/strategy/rollingUpdate/deletePolicy", "/deletion/order");
    rename(part, "/strategy/remediation/maxInFlight", &format!("{remediation}/maxInFlight"));
    for field in ["type", "rollingUpdate"] {
        rename(part, &format!("/strategy/{field}"), &format!("/rollout/strategy/{field}"));
    }
    take(part, "/strategy");
    drop_empty(part, &["/rollout/strategy/rollingUpdate", "/rollout/strategy", "/rollout"]);
}

/// Moves a health check: the conditions of an unhealthy machine and of its replacement.
pub(super) fn health_check(part: &mut Value, from: &str, to: &str) -> Result<()> {
    let at = |field: &str| format!("{from}/{field}");
    for (old, new) in [
        ("unhealthyConditions", "unhealthyNodeConditions"),
        ("unhealthyMachineConditions", "unhealthyMachineConditions"),
    ] {
        for condition in each(part, &at(old)) {
            seconds(condition, "/timeout", "/timeoutSeconds")?;
        }
        rename(part, &at(old), &format!("{to}/checks/{new}"));
    }
    seconds(part, &at("nodeStartupTimeout"), &format!("{to}/checks/nodeStartupTimeoutSeconds"))?;
    let trigger = format!("{to}/remediation/triggerIf");
    rename(part, &at("maxUnhealthy"), &format!("{trigger}/unhealthyLessThanOrEqualTo"));
    rename(part, &at("unhealthyRange"), &format!("{trigger}/unhealthyInRange"));
    template(part, &at("remediationTemplate"), &format!("{to}/remediation/templateRef"));
    Ok(())
}

/// The same for a health check that is a separate object with a switch.
pub(super) fn own_health_check(part: &mut Value) -> Result<()> {
    health_check(part, "/machineHealthCheck", "/healthCheck")?;
    rename(part, "/machineHealthCheck/enable", "/healthCheck/enabled");
    take(part, "/machineHealthCheck");
    Ok(())
}

/// Converts the parts that every status has: conditions in two formats, failures, and counters that have another meaning in v1beta2.
pub(super) fn status(object: &mut Value, counters: &[&str]) {
    const OLD: &str = "/status/deprecated/v1beta1";
    rename(object, "/status/conditions", &format!("{OLD}/conditions"));
    for field in ["failureReason", "failureMessage"].iter().chain(counters) {
        rename(object, &format!("/status/{field}"), &format!("{OLD}/{field}"));
    }
    if let Some(Value::Object(newer)) = take(object, "/status/v1beta2") {
        for (field, value) in newer {
            put(object, &format!("/status/{field}"), value);
        }
    }
}

/// Converts failure domains from a map by name to a list.
pub(super) fn failure_domains(object: &mut Value) {
    let Some(Value::Object(domains)) = take(object, "/status/failureDomains") else { return };
    let mut list: Vec<(String, Value)> = domains.into_iter().collect();
    list.sort_by(|a, b| a.0.cmp(&b.0));
    let list = list.into_iter().map(|(name, mut domain)| {
        if !domain.is_object() {
            domain = json!({});
        }
        domain["name"] = name.into();
        domain
    });
    put(object, "/status/failureDomains", list.collect());
}
