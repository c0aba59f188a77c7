//! The life of one Pod: `state` is what is known, `plan` what is to be done next, `status` what is written. All three are pure; `worker`
//! performs the plan with `image`, `start` and `events`.

mod container;
mod events;
mod image;
pub(crate) mod place;
pub mod plan;
pub(crate) mod ports;
pub(crate) mod shared;
mod start;
pub mod state;
pub mod status;
pub(crate) mod worker;
