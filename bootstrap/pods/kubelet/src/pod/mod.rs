//! The life of one Pod: `state` is what is known, `plan` what is to be done next, `status` what is written. All three are pure; `worker`
//! performs the plan.

pub(crate) mod container;
pub mod plan;
pub mod state;
pub mod status;
pub(crate) mod worker;
