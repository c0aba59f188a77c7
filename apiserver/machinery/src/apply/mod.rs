//! Server-side apply and the maintenance of `metadata.managedFields`.
//!
//! The semantics are those of `sigs.k8s.io/structured-merge-diff` and `k8s.io/apimachinery/pkg/util/managedfields`.

mod compare;
mod configuration;
mod fields;
mod items;
mod last_applied;
mod managed;
mod merge;
mod path;
mod reconcile;
mod request;
mod reset;
pub mod scale;
mod set;
pub(crate) mod types;
mod update;
mod updater;
mod validate;
mod versions;
mod writer;

pub use configuration::configure;
pub use request::apply;
pub use reset::Reset;
pub use update::{keep_times, update};
pub use versions::Versions;
pub use writer::Writer;
