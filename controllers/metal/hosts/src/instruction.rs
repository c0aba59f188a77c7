//! What an agent is told to do, as its object's `spec.instruction` has it.

use schemas::metal3::{Image, RootDeviceHints};
use schemas::netboot::{AgentInstruction, InstructionImage};

/// An instruction. The agent does each id once.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Another one for each instruction of a machine.
    pub id: String,
    /// What to do.
    pub action: Action,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Find out what the machine has.
    Inspect,
    /// Make all disks empty.
    Clean(Erase),
    /// Write an image.
    Deploy(Box<Deployment>),
    /// End what runs and restart.
    Restart,
    /// End what runs and switch the machine off.
    PowerOff,
}

/// How thoroughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erase {
    /// Partition tables and signatures.
    Metadata,
    /// All of each disk, by its own way where it has one.
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

/// What is written, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// The image.
    pub image: Image,
    /// Which disk.
    pub hints: RootDeviceHints,
}

/// The name of the restart that ends the provisioning which began then: each operation's instructions are named for it.
pub fn restart(begun: &str) -> String {
    format!("restart/{begun}")
}

/// Whether an agent was told to end the provisioning that began then.
pub fn is_restart_of(instruction: &AgentInstruction, begun: &str) -> bool {
    instruction.action == "Restart" && instruction.id == restart(begun)
}

impl Instruction {
    /// As `spec.instruction` of an Agent, for the start of its machine that `boot` names: after another start it is not done again.
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
            // Metal3's metadata is there for every host.
            config_drive: deployment.map(|_| true),
        }
    }
}
