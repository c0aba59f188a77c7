//! The server's side of the protocol with agents ([`agent_protocol`]): enrolments, instructions and reports.
//!
//! The rules are pure: `proof` decides about enrolments, `reports` about writes to `Agent` objects, and `drive` about configuration
//! drives. [`Agents`] applies them (`enrolment` has its part for enrolments).

pub mod drive;
pub mod endorsement;
mod enrolment;
pub mod instruction;
pub mod proof;
pub mod refusal;
pub mod reports;
mod service;
pub mod waiting;

pub use refusal::Refusal;
pub use service::Agents;
