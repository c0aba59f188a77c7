//! What desired objects depend on.

use crate::blueprint::Blueprint;
use crate::current::Current;
use crate::versions::Versions;

/// A contract of Cluster API that a control plane's kind implements. It decides where fields are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contract {
    /// `v1beta1`.
    V1Beta1,
    /// `v1beta2`.
    #[default]
    V1Beta2,
}

impl Contract {
    /// Returns the contract of this name, such as `v1beta1`.
    pub fn named(name: &str) -> Self {
        if name == "v1beta1" { Self::V1Beta1 } else { Self::V1Beta2 }
    }
}

/// What the desired objects depend on.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The class with its templates.
    pub blueprint: &'a Blueprint,
    /// The Cluster and what exists of it.
    pub current: &'a Current,
    /// The contract of the control plane's kind.
    pub contract: Contract,
    /// The versions that the parts get.
    pub versions: &'a Versions,
}
