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
