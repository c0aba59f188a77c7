//! The result of the rules: the changes that a Machine needs, and the progress of its deletion.

use engine::steps::Event;
use engine::{Action, ExternalObject};
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::{Machine, MachineInitializationStatus};

use super::drain::Eviction;
use crate::change::ExternalChange;

/// The changes that a Machine needs.
#[derive(Debug, Default)]
pub struct Plan {
    /// The Machine with its wanted metadata, spec and status.
    pub machine: Machine,
    /// Changes of the bootstrap and infrastructure objects.
    pub external: Vec<ExternalChange>,
    /// The changed Node; `None` if it needs no change.
    pub node: Option<Node>,
    /// Evictions of Pods from the Node.
    pub evict: Vec<Eviction>,
    /// The infrastructure or bootstrap objects to delete.
    pub delete: Vec<ExternalObject>,
    /// Whether to delete the Node.
    pub delete_node: bool,
    /// Whether to call the update in place.
    pub update: bool,
    /// Whether the update in place is done, so that its marks are removed.
    pub completes_update: bool,
    /// Events to record about the Machine.
    pub events: Vec<Event>,
    /// When to reconcile again.
    pub action: Action,
    /// Errors that the reconcile returns.
    pub errors: Vec<String>,
}

impl Plan {
    /// Returns `status.initialization`.
    pub(super) fn initialization(&mut self) -> &mut MachineInitializationStatus {
        self.machine.status.get_or_insert_default().initialization.get_or_insert_default()
    }
}

/// The progress of the deletion.
#[derive(Debug)]
pub enum Step {
    /// The Machine is not being deleted.
    NotDeleting,
    /// The deletion waits; holds reason and message of the `Deleting` condition.
    Waiting(&'static str, String),
    /// The Machine's parts are deleted.
    Completed,
}
