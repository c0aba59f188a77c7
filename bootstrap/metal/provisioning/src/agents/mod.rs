//! The server's side of what agents say ([`agent_protocol`]): who they are, what they are to do, how they fare.
//!
//! The rules are pure: `admission` (who is let in), `reports` (what is written down), `drive` (who is given a configuration drive);
//! [`Agents`] keeps `Agent` objects after them (`enrolment`: how a machine comes in).

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
