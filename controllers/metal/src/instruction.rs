//! Instructions for agents, as they appear in `spec.instruction` of an Agent.

use schemas::metal3::{Image, RootDeviceHints};
use schemas::netboot::{AgentInstruction, InstructionImage};

/// An instruction. The agent carries out each identifier once.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// The identifier, which is unique among the instructions of a machine.
    pub id: String,
    /// The action to carry out.
    pub action: Action,
}

/// The action of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Report the inventory.
    Inspect,
    /// Erase all disks.
    Clean(Erase),
    /// Write an image.
    Deploy(Box<Deployment>),
    /// End the running work and restart the machine.
    Restart,
    /// End the running work and switch the machine off.
    PowerOff,
}

/// How thoroughly disks are erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erase {
    /// Only partition tables and signatures.
    Metadata,
    /// The whole disk, by its own erase command if it has one.
    Everything,
}

impl Erase {
    fn name(self) -> &'static str {
        match self {
            Self::Metadata => "Metadata",
            Self::Everything => "Everything",
        }
    }
}

/// The image, and the hints for the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// The image.
    pub image: Image,
    /// The hints that choose the disk.
    pub hints: RootDeviceHints,
}

/// Returns the identifier of the restart that ends the provisioning with the start time `begun`.
pub fn restart(begun: &str) -> String {
    format!("restart/{begun}")
}

/// Returns whether the instruction is the restart that ends the provisioning with the start time `begun`.
pub fn is_restart_of(instruction: &AgentInstruction, begun: &str) -> bool {
    instruction.action == "Restart" && instruction.id == restart(begun)
}

impl Instruction {
    /// Returns `spec.instruction` of an Agent. `boot` limits it to the current start of the machine: after another start it is not
    /// carried out again.
    pub fn to_spec(&self, boot: Option<String>) -> AgentInstruction {
        let (action, deployment) = match &self.action {
            Action::Inspect => ("Inspect", None),
            Action::Clean(_) => ("Clean", None),
            Action::Deploy(deployment) => ("Deploy", Some(deployment)),
            Action::Restart => ("Restart", None),
            Action::PowerOff => ("PowerOff", None),
        };
        AgentInstruction {
            id: self.id.clone(),
            action: action.to_owned(),
            boot_id: boot,
            erase: match self.action {
                Action::Clean(erase) => Some(erase.name().to_owned()),
                _ => None,
            },
            image: deployment.map(|deployment| InstructionImage {
                url: deployment.image.url.clone(),
                checksum: deployment.image.checksum.clone(),
                checksum_type: deployment.image.checksum_type.clone(),
                format: deployment.image.format.clone(),
            }),
            root_device_hints: deployment.map(|deployment| deployment.hints.clone()),
            // Every host has Metal3's metadata.
            config_drive: deployment.map(|_| true),
        }
    }
}
