//! The life of one Pod: `state` is what is known, `plan` what is to be done next, `status` what is written. All three are pure; `worker`
//! performs the plan: `prepared` has what containers need before they start, `processes` those that run, `image` finds their images, and
//! `record` records Events.

mod container;
pub(crate) mod groups;
pub mod image;
pub(crate) mod place;
pub mod plan;
pub mod ports;
mod prepared;
mod private;
mod processes;
pub mod program;
mod record;
pub(crate) mod shared;
pub mod state;
pub mod status;
pub mod stop;
pub(crate) mod worker;
