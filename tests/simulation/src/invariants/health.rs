//! A health check that finds too many sick Machines has none of them replaced.

use serde_json::Value;

use super::object::{CLUSTER, label, name, namespace};
use super::rest::condition;
use super::view::{Change, View};

const CHECKS: &str = "/registry/cluster.x-k8s.io/machinehealthchecks/";

/// Returns whether a Machine waits for its owner to remediate it.
fn is_marked(machine: &Value) -> bool {
    condition(machine, "OwnerRemediated").is_some_and(|condition| condition["status"] == "False")
}

fn is_sick(machine: &Value) -> bool {
    condition(machine, "HealthCheckSucceeded").is_some_and(|condition| condition["status"] == "False")
}

/// No Machine is marked for remediation while more Machines are sick than the health check allows.
pub(super) fn too_many_are_left_alone(view: &View, change: &Change<'_>) -> Option<String> {
    let machine = change.new.filter(|object| object["kind"] == "Machine" && is_marked(object))?;
    if change.old.is_some_and(is_marked) {
        return None;
    }
    let checks = view.below(CHECKS).map(|(_, check)| check);
    let of_machine = |check: &&Value| {
        namespace(check) == namespace(machine)
            && check["spec"]["clusterName"].as_str() == label(machine, CLUSTER)
            && selects(check, machine)
    };
    checks.filter(of_machine).find_map(|check| {
        let targets: Vec<&Value> = view
            .machines(machine, |other| label(other, CLUSTER) == label(machine, CLUSTER) && selects(check, other))
            .map(|(_, other)| other)
            .collect();
        let sick = targets.iter().filter(|target| is_sick(target)).count();
        let most = limit(check, targets.len());
        (sick > most).then(|| {
            format!(
                "maxUnhealthy: {} of MachineHealthCheck {} is to be remediated, although {sick} are sick and the limit is {most}",
                name(machine),
                name(check)
            )
        })
    })
}

fn selects(check: &Value, machine: &Value) -> bool {
    let labels = check["spec"]["selector"]["matchLabels"].as_object();
    labels.is_some_and(|labels| labels.iter().all(|(key, value)| label(machine, key) == value.as_str()))
}

/// Returns the number of sick Machines up to which a health check remediates.
fn limit(check: &Value, targets: usize) -> usize {
    match &check["spec"]["remediation"]["triggerIf"]["unhealthyLessThanOrEqualTo"] {
        Value::Number(number) => number.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0),
        Value::String(text) => {
            text.trim_end_matches('%').parse::<usize>().map_or(0, |percent| percent * targets / 100)
        }
        _ => targets,
    }
}
