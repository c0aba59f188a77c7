//! Variables of ClusterClasses: what a class may define, and the values that Clusters give them.
//!
//! A definition has a schema, of which the crate `apiextensions` has the rules, as for custom objects. [`check_definitions`] says
//! what is wrong with the definitions of a class, and [`default_and_check`] fills in the defaults of a Cluster's topology and
//! checks its values. Admission calls both; the topology controller calls the second again, since a class can change after its
//! Clusters were written.
//!
//! ```text
//! topology → values → schema (structural schemas)      definition → schema
//! ```

mod definition;
mod schema;
mod topology;
mod values;

pub use definition::{INLINE, check_definitions, inline_definitions};
pub use topology::default_and_check;
