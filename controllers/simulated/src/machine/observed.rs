//! The state that a machine's plan depends on.

use std::collections::BTreeMap;

use schemas::infrastructure::InMemoryMachineBackend;
use schemas::meta::Condition;

use super::failures::Draw;

/// The state that a machine's plan depends on.
#[derive(Debug, Clone, Default)]
pub struct Observed<'a> {
    /// The machine's UID, which determines the jitter of its start-up durations.
    pub uid: &'a str,
    /// Whether its deletion has begun.
    pub is_deleting: bool,
    /// The machine's start-up durations.
    pub backend: Option<&'a InMemoryMachineBackend>,
    /// The machine's present conditions.
    pub conditions: &'a [Condition],
    /// Whether the machine belongs to the control plane.
    pub control_plane: bool,
    /// Whether the Machine's bootstrap data exists.
    pub has_bootstrap_data: bool,
    /// Whether the Cluster's infrastructure is provisioned.
    pub infrastructure_provisioned: bool,
    /// Whether the Cluster's control plane is initialized.
    pub control_plane_initialized: bool,
    /// Whether the machine started before, here or in another management cluster.
    pub bootstrapped: bool,
    /// The machine's annotations, which can ask for failures.
    pub annotations: Option<&'a BTreeMap<String, String>>,
    /// Whether the signal is there that its bootstrap waits for; `None` if it waits for none.
    pub signal: Option<bool>,
    /// Random numbers, if a failure is to be drawn.
    pub draw: Option<Draw>,
}
