//! The state of the world that the plan of a Cluster with a topology depends on.

use crate::desired::Contract;
use crate::{Blueprint, Current};

/// The state of the world that the plan of a Cluster with a topology depends on.
pub struct Observed {
    /// The class with its templates.
    pub blueprint: Blueprint,
    /// The Cluster and its objects.
    pub current: Current,
    /// The contract of the control plane's kind.
    pub contract: Contract,
    /// Whether runtime extensions are called (feature gate `RuntimeSDK`).
    pub calls_hooks: bool,
}
