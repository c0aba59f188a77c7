//! Compares our CustomResourceDefinitions with the structure that upstream serves. `data/` holds that structure: names,
//! versions, columns and schemas of Cluster API v1.14.0's CustomResourceDefinitions, without their prose.

mod allowed;
mod compare;

pub use allowed::{ALLOWED, Allowed};
pub use compare::{Difference, compare};
