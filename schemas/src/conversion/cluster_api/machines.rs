//! Machine, MachineSet, MachineDeployment, MachinePool and MachineHealthCheck.

use serde_json::{Value, json};

use super::super::moves::Move::{self, Custom, Reference, Rename, Within, Zero};
use super::super::path::at;
use super::parts::{deletion, health_check, strategy};
use super::status::{CONDITIONS, COUNTERS, FAILURES};

/// The spec of a Machine, or of a template of machines.
const MACHINE_SPEC: &[Move] =
    &[Reference("/bootstrap/configRef"), Reference("/infrastructureRef"), deletion!("", "")];

/// The progress of a machine's creation.
const PROVISIONED: Move = Move::All(&[
    Rename("/status/bootstrapReady", "/status/initialization/bootstrapDataSecretCreated"),
    Rename("/status/infrastructureReady", "/status/initialization/infrastructureProvisioned"),
    Zero("/status/initialization/bootstrapDataSecretCreated"),
    Zero("/status/initialization/infrastructureProvisioned"),
]);

/// The template of the machines of an object.
const MACHINE_TEMPLATE: Move = Move::All(&[
    Within("/spec/template/spec", MACHINE_SPEC),
    Rename("/spec/minReadySeconds", "/spec/template/spec/minReadySeconds"),
]);

const MACHINE_NAMING: Move = Rename("/spec/machineNamingStrategy/template", "/spec/machineNaming/template");

pub const MACHINE: &[Move] = &[
    Within("/spec", MACHINE_SPEC),
    PROVISIONED,
    Custom { up: node_up, down: node_down },
    Custom { up: |_| {}, down: phase_down },
    CONDITIONS,
    FAILURES,
];

pub const MACHINE_SET: &[Move] = &[
    MACHINE_TEMPLATE,
    MACHINE_NAMING,
    Rename("/spec/deletePolicy", "/spec/deletion/order"),
    CONDITIONS,
    FAILURES,
    COUNTERS,
];

pub const MACHINE_DEPLOYMENT: &[Move] = &[
    Zero("/spec/paused"),
    MACHINE_TEMPLATE,
    MACHINE_NAMING,
    strategy!("/spec", "/spec/remediation"),
    Rename("/spec/rolloutAfter", "/spec/rollout/after"),
    CONDITIONS,
    COUNTERS,
];

pub const MACHINE_POOL: &[Move] = &[MACHINE_TEMPLATE, PROVISIONED, CONDITIONS, FAILURES, COUNTERS];

pub const MACHINE_HEALTH_CHECK: &[Move] = &[
    health_check!("/spec", "/spec"),
    Zero("/status/expectedMachines"),
    Zero("/status/currentHealthy"),
    Zero("/status/remediationsAllowed"),
    CONDITIONS,
];

fn node_up(machine: &mut Value) {
    let Some(node) = at(machine, "/status/nodeRef").and_then(Value::as_object_mut) else { return };
    node.retain(|field, _| field == "name");
}

fn node_down(machine: &mut Value) {
    let Some(node) = at(machine, "/status/nodeRef").and_then(Value::as_object_mut) else { return };
    node.insert("apiVersion".into(), json!("v1"));
    node.insert("kind".into(), json!("Node"));
}

/// The phase `Updating` exists only in `v1beta2`.
fn phase_down(machine: &mut Value) {
    if let Some(phase) = at(machine, "/status/phase")
        && *phase == "Updating"
    {
        *phase = json!("Running");
    }
}
