//! A request before its handler runs: decoding, target, authorization, and fair queuing.

pub(crate) mod aside;
pub(crate) mod asked;
pub(crate) mod audit;
pub(crate) mod authorization;
pub(crate) mod flows;
pub(crate) mod handle;
pub(crate) mod input;
pub(crate) mod older;
mod permissions;
pub(crate) mod query;
pub(crate) mod reached;
pub(crate) mod read_body;
pub(crate) mod refusal;
pub(crate) mod seats;
pub(crate) mod target;
pub(crate) mod token_uses;
pub(crate) mod turns;
pub(crate) mod verb;
pub(crate) mod write_options;
