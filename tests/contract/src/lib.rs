//! Compares this project's CustomResourceDefinitions with the original ones. `data/` holds the structure of
//! the originals, without descriptions: names, versions, columns and schemas of the CustomResourceDefinitions
//! of Cluster API v1.14.0 and of Metal3: baremetal-operator v0.13.2, cluster-api-provider-metal3 v1.13.2 and
//! ip-address-manager v1.13.2.

mod allowed;
mod compare;

pub use allowed::{ALLOWED, Allowed};
pub use compare::{Difference, compare};
