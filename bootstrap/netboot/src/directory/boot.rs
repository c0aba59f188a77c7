//! Decides whether the machine of a host boots the agent, an image, or its disk.

use engine::object::annotation;
use metal::instruction::is_restart_of;
use metal::names::{DETACHED, state};
use schemas::metal3::BareMetalHost;
use schemas::netboot::Agent;

use crate::machine::Boot;

/// Returns [`Boot::Agent`] in every state in which the host must be inspected or changed, otherwise [`Boot::Disk`]. As soon as the
/// image has been written and the machine has been told to restart, it boots from its disk.
pub(super) fn boot(host: &BareMetalHost, agent: Option<&Agent>) -> Boot {
    if annotation(host, DETACHED).is_some() {
        return Boot::Disk;
    }
    let Some(status) = &host.status else { return Boot::Agent };
    match status.provisioning.state.as_str() {
        state::PROVISIONING if is_written(host, agent) => Boot::Disk,
        state::UNMANAGED
        | state::PROVISIONED
        | state::EXTERNALLY_PROVISIONED
        | state::POWERING_OFF
        | state::DELETING => Boot::Disk,
        _ => Boot::Agent,
    }
}

/// Returns whether the current deployment has ended, which the controller marks with a restart instruction. A restart instruction of an
/// earlier provisioning does not count.
fn is_written(host: &BareMetalHost, agent: Option<&Agent>) -> bool {
    let begun = || host.status.as_ref()?.operation_history.as_ref()?.provision.as_ref()?.start.as_deref();
    let instruction = agent.and_then(|agent| agent.spec.instruction.as_ref());
    match (instruction, begun()) {
        (Some(instruction), Some(begun)) => is_restart_of(instruction, begun),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_state_has_its_boot() {
        let host = |state: &str, annotations: serde_json::Value| -> BareMetalHost {
            serde_json::from_value(json!({
                "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
                "metadata": { "name": "a", "namespace": "default", "annotations": annotations },
                "spec": { "online": true },
                "status": {
                    "provisioning": { "state": state },
                    "operationHistory": { "provision": { "start": "2026-11-22T09:00:00Z" } },
                },
            }))
            .unwrap()
        };
        let agent = |action: &str, id: &str| -> Agent {
            let instruction = json!({ "id": id, "action": action });
            serde_json::from_value(json!({
                "apiVersion": "netboot.firstlight.dev/v1alpha1", "kind": "Agent",
                "metadata": { "name": "52-54-00-00-00-01" }, "spec": { "instruction": instruction },
            }))
            .unwrap()
        };
        let now = "restart/2026-11-22T09:00:00Z";
        let cases = [
            ("", None, Boot::Agent),
            ("registering", None, Boot::Agent),
            ("inspecting", Some(agent("Restart", "restart/2026-11-22T08:00:00Z")), Boot::Agent),
            ("available", None, Boot::Agent),
            ("deprovisioning", None, Boot::Agent),
            ("provisioning", None, Boot::Agent),
            ("provisioning", Some(agent("Deploy", "deploy/2026-11-22T09:00:00Z")), Boot::Agent),
            ("provisioning", Some(agent("Restart", "restart/2026-11-21T09:00:00Z")), Boot::Agent),
            ("provisioning", Some(agent("Restart", now)), Boot::Disk),
            ("provisioned", None, Boot::Disk),
            ("externally provisioned", None, Boot::Disk),
            ("unmanaged", None, Boot::Disk),
            ("deleting", None, Boot::Disk),
        ];
        for (state, agent, expected) in cases {
            assert_eq!(boot(&host(state, json!({})), agent.as_ref()), expected, "{state}");
            let detached = host(state, json!({ DETACHED: "" }));
            assert_eq!(boot(&detached, agent.as_ref()), Boot::Disk, "{state}, detached");
        }
    }
}
