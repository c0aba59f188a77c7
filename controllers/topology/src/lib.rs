//! ClusterClass, and Clusters made from it.
//!
//! What a Cluster with a topology consists of is computed by pure functions, from what the class says and what exists:
//!
//! ```text
//! Blueprint (the class, its templates) ┐
//! Current (the Cluster, its objects)   ┴─→ versions ─→ desired ─→ patches ─→ Desired
//! ```
//!
//! [`versions::choose`] decides which version each part gets now, and which hooks must be asked before that. [`desired::compute`] makes the objects from the templates, and
//! [`Patching`] applies the patches of the class to them. Nothing in these reads a clock, makes a request or draws a random name: names come in as an argument. [`cluster`] reads
//! what they need, and applies what they want; whether a template changed so that it needs a new name, the API server says.

pub mod blueprint;
pub mod class;
pub mod cluster;
pub mod current;
pub mod desired;
pub mod extensions;
pub mod limits;
pub mod names;
mod object;
pub mod offline;
pub mod patches;
mod references;
mod size;
pub mod templates;
pub mod versions;

use engine::{Manager, Provider};

pub use blueprint::{Blueprint, Template, WorkerTemplates};
pub use current::{ControlPlane, Current, Workers};
pub use desired::{Desired, DesiredWorkers};
pub use extensions::Context;
pub use patches::{PatchError, Patching, Step};
pub use versions::{UpgradePlan, Versions};

/// The table of the controllers of topologies. They are part of upstream's core provider, which has its entry in the inventory elsewhere.
pub const PROVIDERS: &[Provider<Context>] = &[Provider {
    inventory: None,
    controllers: &[
        class::CONTROLLER,
        cluster::CONTROLLER,
        templates::deployments::CONTROLLER,
        templates::sets::CONTROLLER,
    ],
}];

/// Starts the controllers of topologies. If the feature gate `ClusterTopology` is off, none of them does anything.
pub fn start(manager: &Manager, context: &Context) {
    PROVIDERS.iter().for_each(|provider| provider.start(manager, context));
}
