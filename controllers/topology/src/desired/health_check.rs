//! MachineHealthChecks of the topology.

use schemas::cluster::{
    ControlPlaneTopology, HealthCheckRemediation, HealthChecks, MachineDeploymentClass,
    MachineDeploymentHealthCheckRemediation, MachineDeploymentTopology, MachineHealthCheck,
    MachineHealthCheckSpec,
};
use serde_json::{Value, json};

use super::{Inputs, metadata};
use crate::names;
use crate::object::{self, Texts};

/// What is checked, and what happens then.
type Definition = (Option<HealthChecks>, Option<HealthCheckRemediation>);

/// The health check of control plane machines: that of the topology, else that of the class. Only a control plane that consists of machines has one.
pub fn of_control_plane(
    inputs: &Inputs<'_>,
    topology: Option<&ControlPlaneTopology>,
    control_plane: &Value,
) -> Option<Value> {
    inputs.blueprint.control_plane_machines.as_ref()?;
    let topology = topology.and_then(|topology| topology.health_check.as_ref());
    let ours = topology.and_then(|check| defined(check.checks.as_ref(), check.remediation.as_ref()));
    let class = inputs.blueprint.class.spec.control_plane.health_check.as_ref();
    let theirs = class.and_then(|check| defined(check.checks.as_ref(), check.remediation.as_ref()));
    let definition = ours.or(theirs).filter(|_| topology.and_then(|check| check.enabled) != Some(false))?;
    let selector = [names::OWNED, names::CONTROL_PLANE].map(|name| (name.to_owned(), String::new()));
    Some(health_check(inputs, control_plane, Texts::from(selector), definition))
}

/// The health check of a MachineDeployment's machines: that of the topology, else that of the class.
pub fn of_machine_deployment(
    inputs: &Inputs<'_>,
    class: &MachineDeploymentClass,
    topology: &MachineDeploymentTopology,
    object: &Value,
) -> Option<Value> {
    let topology_check = topology.health_check.as_ref();
    let ours = topology_check.and_then(|check| defined(check.checks.as_ref(), check.remediation.as_ref()));
    let theirs = class.health_check.as_ref();
    let theirs = theirs.and_then(|check| defined(check.checks.as_ref(), check.remediation.as_ref()));
    let is_on = topology_check.and_then(|check| check.enabled) != Some(false);
    let (checks, remediation) = ours.or(theirs).filter(|_| is_on)?;
    let selector = Texts::from([
        (names::OWNED.to_owned(), String::new()),
        (names::DEPLOYMENT_NAME.to_owned(), topology.name.clone()),
    ]);
    let definition = (checks, remediation.as_ref().map(without_limit));
    Some(health_check(inputs, object, selector, definition))
}

/// What a health check says, if it says anything. One that only says whether it is enabled defines nothing.
fn defined<R: Clone + Default + PartialEq>(
    checks: Option<&HealthChecks>,
    remediation: Option<&R>,
) -> Option<(Option<HealthChecks>, Option<R>)> {
    let checks = checks.filter(|checks| **checks != HealthChecks::default()).cloned();
    let remediation = remediation.filter(|remediation| **remediation != R::default()).cloned();
    (checks.is_some() || remediation.is_some()).then_some((checks, remediation))
}

/// How many machines may be repaired at once is a field of the MachineDeployment.
fn without_limit(remediation: &MachineDeploymentHealthCheckRemediation) -> HealthCheckRemediation {
    HealthCheckRemediation {
        template_ref: remediation.template_ref.clone(),
        trigger_if: remediation.trigger_if.clone(),
    }
}

/// Makes the health check, with the defaults that admission gives it, so that it does not differ from what is stored.
fn health_check(inputs: &Inputs<'_>, target: &Value, selector: Texts, definition: Definition) -> Value {
    let cluster = &inputs.current.cluster;
    let (checks, remediation) = definition;
    let mut spec = MachineHealthCheckSpec {
        cluster_name: cluster.metadata.name.clone().unwrap_or_default(),
        checks,
        remediation: remediation.filter(|remediation| *remediation != HealthCheckRemediation::default()),
        ..MachineHealthCheckSpec::default()
    };
    spec.selector.match_labels = Some(selector);
    let mut made = json!({
        "apiVersion": MachineHealthCheck::API_VERSION,
        "kind": MachineHealthCheck::KIND,
        "metadata": {
            "name": object::name(target),
            "namespace": object::text(target, &["metadata", "namespace"]),
            "labels": { names::OWNED: "" },
            "ownerReferences": [metadata::owner(cluster)],
        },
        "spec": spec,
    });
    // These defaults cannot fail: they fill in fields.
    let _ = schemas::admission::set_defaults(
        MachineHealthCheck::GROUP,
        MachineHealthCheck::KIND,
        &mut made,
        None,
    );
    made
}
