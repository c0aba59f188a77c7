//! The pivot: moves the Cluster API objects of one management cluster to another one without losing any, and so that the controllers of
//! the two never reconcile one cluster at the same time.
//!
//! [`inventory`] reads the source, [`graph`] finds which objects belong together, [`plan`] decides the order of the move, [`preflight`]
//! looks for obstacles, [`executor`] moves the objects with a [`journal`] record before each step, and [`report`] tells the result.

pub mod comparison;
pub mod desired;
pub mod error;
pub mod executor;
pub mod finding;
pub mod graph;
pub mod inventory;
pub mod journal;
pub mod kinds;
pub mod limits;
pub mod names;
pub mod normal;
pub mod object;
pub mod plan;
pub mod preflight;
pub mod progress;
pub mod report;
pub mod server;
pub mod steady;
mod used_providers;

pub use error::{Error, Result};
pub use executor::{Options, Pivot};
pub use journal::Journal;
pub use server::Server;
