//! ClusterClass, and Clusters made from it.
//!
//! What a Cluster with a topology consists of is worked out by pure functions, from what the class says and what exists:
//!
//! ```text
//! Blueprint (the class, its templates) ┐
//! Current (the Cluster, its objects)   ┴─→ versions ─→ desired ─→ patches ─→ Desired
//! ```
//!
//! [`versions::choose`] decides which version each part gets now, and which hooks must be asked before that. [`desired::compute`] makes the objects from the templates, and
//! [`Patching`] applies the patches of the class to them. [`rotation`] decides whether a template changed so that it needs a new name. Nothing here reads a clock, makes a
//! request or draws a random name: names come in as an argument.

pub mod blueprint;
pub mod current;
pub mod desired;
pub mod limits;
pub mod names;
mod object;
pub mod offline;
pub mod patches;
pub mod rotation;
pub mod versions;

pub use blueprint::{Blueprint, Template, WorkerTemplates};
pub use current::{ControlPlane, Current, Workers};
pub use desired::{Desired, DesiredWorkers};
pub use patches::{PatchError, Patching, Step};
pub use versions::{UpgradePlan, Versions};
