//! The patches of a class, applied to the templates of a Cluster.
//!
//! All templates of the Cluster are items of one [request](GeneratePatchesRequest), as runtime extensions know it. The patches change them one after the other, so that
//! each one sees what those before it did. Inline patches are computed here; for an external one, [`Patching::next`] gives the request to the caller, who asks the
//! extension and brings its answer. At the end, what the templates became is taken over into the desired objects, less the fields that a patch may not change.

mod apply;
mod budget;
mod builtins;
mod engine;
mod inline;
mod items;
mod json_patch;
mod request;
mod result;
mod selector;
mod unused;
mod value;

pub use engine::{PatchError, Patching, Step};
pub use request::{
    GeneratePatchesItem, GeneratePatchesRequest, GeneratePatchesResponse, HolderReference, PatchItem,
    ValidateTopologyItem, ValidateTopologyRequest, Variable,
};
pub use unused::Unused;
