//! Built-in kinds: what each is, its defaults, rules and warnings, and what `kubectl get` shows of it.
//!
//! Pure functions over objects. A folder a subject holds all that is known of its kinds beyond the structure of their types
//! ([`machinery::types`]): their lines of the table or their manifests, rules, columns, warnings. [`strategy`] finds the
//! rules of a resource, custom ones included; the registry asks them at each step of a write.
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
mod kind;
pub mod metadata;
mod namespaces;
mod networking;
mod nodes;
mod pods;
mod priorities;
mod quotas;
mod reviews;
mod storage;
pub mod strategy;
mod subject;
mod subresource;
pub mod user;
mod workloads;

pub use groups::{columns, definitions, in_version, is_known, manifests, strategy, warnings, zero_object};
pub use subresource::Subresource;
pub use user::User;
