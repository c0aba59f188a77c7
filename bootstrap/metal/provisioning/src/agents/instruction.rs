//! The instruction for an agent, and whether the agent has it already. Pure.

use agent_protocol::Instruction;
use schemas::netboot::Agent;

/// Returns the instruction for the current start of the machine, or `None` if there is no instruction or it was meant for an earlier
/// start.
pub fn instruction(agent: &Agent) -> Option<Instruction> {
    let stored = agent.spec.instruction.as_ref()?;
    let running = agent.status.as_ref().and_then(|status| status.boot_id.as_deref());
    if stored.boot_id.is_some() && stored.boot_id.as_deref() != running {
        return None;
    }
    let instruction = metal::instruction::read(stored);
    if instruction.is_none() {
        tracing::warn!(id = stored.id, action = stored.action, "an instruction that no agent knows");
    }
    instruction
}

/// Returns whether the instruction `id` is the one that the agent last finished (`after`). Agents omit characters that a query would
/// have to escape.
pub fn is_same(id: &str, after: &str) -> bool {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || "-._~".contains(*c)).collect()
    };
    id == after || plain(id) == plain(after)
}

#[cfg(test)]
mod tests {
    use agent_protocol::{Action, Erase};
    use serde_json::{Value, json};

    use super::*;

    fn agent(spec: Value, boot: &str) -> Agent {
        serde_json::from_value(json!({
            "metadata": { "name": "a" },
            "spec": { "instruction": spec },
            "status": { "bootID": boot },
        }))
        .unwrap()
    }

    #[test]
    fn instructions_are_for_one_start() {
        let deploy = json!({
            "id": "deploy/1", "action": "Deploy", "bootID": "now", "configDrive": true,
            "image": { "url": "http://a/b", "checksum": "12" },
            "rootDeviceHints": { "deviceName": "/dev/vda", "minSizeGigabytes": 4 },
        });
        assert_eq!(instruction(&agent(deploy.clone(), "earlier")), None);
        let Some(Instruction { action: Action::Deploy(deployment), .. }) = instruction(&agent(deploy, "now"))
        else {
            panic!("an instruction to deploy");
        };
        assert_eq!((deployment.image.checksum.as_str(), deployment.config_drive), ("12", true));
        assert_eq!(deployment.root_device_hints.min_size_gigabytes, Some(4));
        let clean =
            instruction(&agent(json!({ "id": "1", "action": "Clean", "erase": "Everything" }), "now"));
        assert_eq!(clean.map(|clean| clean.action), Some(Action::Clean { erase: Erase::Everything }));
        assert_eq!(instruction(&agent(json!({ "id": "1", "action": "Dance" }), "now")), None);
        assert!(is_same("deploy/2026-11-22T09:00:00Z", "deploy2026-11-22T090000Z"));
        assert!(!is_same("deploy/1", "deploy/2"));
    }
}
