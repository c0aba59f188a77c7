//! The built-in kinds: definitions, defaults, validation, warnings, and the columns of `kubectl get`.
//!
//! All functions are pure. Each folder has one subject and contains everything that differs between its kinds, except the
//! structure of their types, which is in [`types`]. [`strategy`](fn@strategy) returns the rules of a resource,
//! also for custom resources; the registry calls them at each step of a write.
//!
//! ```
//! let pods = kinds::definitions().iter().find(|one| one.plural == "pods").unwrap();
//! let rules = kinds::strategy(pods);
//! assert!(rules.check_name("Web", false).len() > 0);
//! ```

mod access_control;
pub mod admission;
mod autoscaling;
mod certificates;
pub mod columns;
mod configuration;
mod coordination;
pub mod decode;
pub mod definition;
mod devices;
pub mod events;
mod extensions;
mod fields;
mod flow_control;
mod groups;
mod jobs;
pub mod json;
mod kind;
pub mod limits;
pub mod metadata;
mod namespaces;
mod networking;
mod nodes;
mod pods;
mod priorities;
pub mod protobuf;
mod quotas;
mod reviews;
mod storage;
pub mod strategy;
mod subject;
mod subresource;
pub mod types;
pub mod user;
mod workloads;

pub use groups::{columns, definitions, in_version, is_known, manifests, strategy, warnings, zero_object};
pub use pods::{account, standards};
pub use quotas::{charge, counted, limits as limit_ranges};
pub use subresource::Subresource;
pub use user::User;
