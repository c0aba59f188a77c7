//! The pivot: hands the Cluster API objects of one management cluster over to another one, without losing any and without ever letting
//! both reconcile one cluster.
//!
//! [`inventory`] reads the source, [`graph`] says what belongs together, [`plan`] in which order it moves; [`preflight`] looks for what
//! stands in the way; [`executor`] does it, with a [`journal`] record before each step; [`report`] says what was done.

pub mod comparison;
pub mod desired;
pub mod error;
pub mod executor;
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

pub use error::{Error, Result};
pub use executor::{Options, Pivot};
pub use journal::Journal;
pub use server::Server;
