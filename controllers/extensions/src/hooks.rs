//! The hooks of Cluster API 1.14.

/// A hook: a moment at which extensions are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hook {
    /// Asks an extension which handlers it has.
    Discovery,
    /// Before the objects of a Cluster are created.
    BeforeClusterCreate,
    /// After the API server of a Cluster has answered for the first time.
    AfterControlPlaneInitialized,
    /// Before the first step of an upgrade.
    BeforeClusterUpgrade,
    /// Before the control plane takes the next version.
    BeforeControlPlaneUpgrade,
    /// After the control plane has the next version.
    AfterControlPlaneUpgrade,
    /// Before workers take the next version.
    BeforeWorkersUpgrade,
    /// After workers have the next version.
    AfterWorkersUpgrade,
    /// After the last step of an upgrade.
    AfterClusterUpgrade,
    /// Before the objects of a Cluster are deleted.
    BeforeClusterDelete,
    /// Changes the templates of a Cluster.
    GeneratePatches,
    /// Accepts or refuses the templates of a Cluster.
    ValidateTopology,
    /// Says which variables a class has.
    DiscoverVariables,
    /// Says which versions an upgrade goes through.
    GenerateUpgradePlan,
    /// Says which changes of a Machine need no new machine.
    CanUpdateMachine,
    /// Says which changes of a MachineSet need no new machines.
    CanUpdateMachineSet,
    /// Changes a machine.
    UpdateMachine,
}

/// All hooks but discovery, which has no handlers.
const HANDLED: [Hook; 16] = [
    Hook::BeforeClusterCreate,
    Hook::AfterControlPlaneInitialized,
    Hook::BeforeClusterUpgrade,
    Hook::BeforeControlPlaneUpgrade,
    Hook::AfterControlPlaneUpgrade,
    Hook::BeforeWorkersUpgrade,
    Hook::AfterWorkersUpgrade,
    Hook::AfterClusterUpgrade,
    Hook::BeforeClusterDelete,
    Hook::GeneratePatches,
    Hook::ValidateTopology,
    Hook::DiscoverVariables,
    Hook::GenerateUpgradePlan,
    Hook::CanUpdateMachine,
    Hook::CanUpdateMachineSet,
    Hook::UpdateMachine,
];

impl Hook {
    /// Returns all hooks that extensions can have handlers for.
    pub fn handled() -> &'static [Self] {
        &HANDLED
    }

    /// Returns the hook of this name that extensions can have handlers for.
    pub fn named(name: &str) -> Option<Self> {
        HANDLED.into_iter().find(|hook| hook.name() == name)
    }

    /// Returns the name, as in `status.handlers` and in the kinds of requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discovery => "Discovery",
            Self::BeforeClusterCreate => "BeforeClusterCreate",
            Self::AfterControlPlaneInitialized => "AfterControlPlaneInitialized",
            Self::BeforeClusterUpgrade => "BeforeClusterUpgrade",
            Self::BeforeControlPlaneUpgrade => "BeforeControlPlaneUpgrade",
            Self::AfterControlPlaneUpgrade => "AfterControlPlaneUpgrade",
            Self::BeforeWorkersUpgrade => "BeforeWorkersUpgrade",
            Self::AfterWorkersUpgrade => "AfterWorkersUpgrade",
            Self::AfterClusterUpgrade => "AfterClusterUpgrade",
            Self::BeforeClusterDelete => "BeforeClusterDelete",
            Self::GeneratePatches => "GeneratePatches",
            Self::ValidateTopology => "ValidateTopology",
            Self::DiscoverVariables => "DiscoverVariables",
            Self::GenerateUpgradePlan => "GenerateUpgradePlan",
            Self::CanUpdateMachine => "CanUpdateMachine",
            Self::CanUpdateMachineSet => "CanUpdateMachineSet",
            Self::UpdateMachine => "UpdateMachine",
        }
    }

    /// Returns whether an answer may say when to ask again, and so holds up what the hook belongs to.
    pub fn can_block(self) -> bool {
        match self {
            Self::BeforeClusterCreate
            | Self::BeforeClusterUpgrade
            | Self::BeforeControlPlaneUpgrade
            | Self::AfterControlPlaneUpgrade
            | Self::BeforeWorkersUpgrade
            | Self::AfterWorkersUpgrade
            | Self::AfterClusterUpgrade
            | Self::BeforeClusterDelete
            | Self::UpdateMachine => true,
            Self::Discovery
            | Self::AfterControlPlaneInitialized
            | Self::GeneratePatches
            | Self::ValidateTopology
            | Self::DiscoverVariables
            | Self::GenerateUpgradePlan
            | Self::CanUpdateMachine
            | Self::CanUpdateMachineSet => false,
        }
    }
}
