//! Compares our CustomResourceDefinitions with the structure that upstream serves. `data/` holds that structure: names,
//! versions, columns and schemas of the CustomResourceDefinitions of Cluster API v1.14.0 and of Metal3's baremetal-operator v0.13.2, without their
//! prose.

mod allowed;
mod compare;

pub use allowed::{ALLOWED, Allowed};
pub use compare::{Difference, compare};
