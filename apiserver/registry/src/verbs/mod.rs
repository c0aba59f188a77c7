//! The verbs, one file for each.

mod binding;
mod continue_token;
mod create;
mod delete;
mod delete_collection;
pub(crate) mod get;
mod list;
pub(crate) mod patch;
mod preconditions;
mod read_options;
pub(crate) mod scale;
pub(crate) mod select;
mod transient;
mod undelete;
mod update;
pub(crate) mod watch;
