//! The life of one Pod: `state` is what is known, `plan` what is to be done next, `status` what is written. All three are pure; `worker`
//! performs the plan with `image`, `start`, `stop` and `events`, and records Events with `record`.

mod container;
mod events;
pub(crate) mod groups;
pub mod image;
pub(crate) mod place;
pub mod plan;
pub mod ports;
mod private;
pub mod program;
mod record;
pub(crate) mod shared;
mod start;
pub mod state;
pub mod status;
pub mod stop;
pub(crate) mod worker;
