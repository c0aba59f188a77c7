//! The verbs, one file for each: functions of the parts of a server that they need.

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
mod select;
mod transient;
mod undelete;
mod update;
pub(crate) mod watch;

pub(crate) use binding::bind;
pub(crate) use create::create;
pub(crate) use delete::delete;
pub(crate) use delete_collection::delete_collection;
pub(crate) use list::list;
pub(crate) use patch::patch;
pub(crate) use transient::transient;
pub(crate) use undelete::undelete;
pub(crate) use update::update;
pub(crate) use watch::watch;
