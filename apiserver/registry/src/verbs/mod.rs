//! The verbs, one file for each.

mod binding;
mod continue_token;
mod create;
mod delete;
mod delete_collection;
mod list;
pub(crate) mod patch;
mod preconditions;
pub(crate) mod scale;
pub(crate) mod select;
mod transient;
mod update;
pub(crate) mod watch;
