//! The server's side of the protocol with agents ([`agent_protocol`]): enrolments, instructions and reports.
//!
//! The rules are pure: `admission` decides about enrolments, `reports` about writes to `Agent` objects, and `drive` about configuration
//! drives. [`Agents`] applies them (`enrolment` has its part for enrolments).

mod admission;
mod drive;
pub mod endorsement;
mod enrolment;
mod instruction;
mod refusal;
mod reports;
mod service;
mod waiting;

pub use refusal::Refusal;
pub use service::Agents;
