//! The machinery that all controllers share: queues, caches, conditions, patches, finalizers, events,
//! connections to workload clusters.
//!
//! A controller is a [`Reconciler`] run by a [`Controller`] of a [`Manager`]. It reads through [`Objects`] (a
//! cache per kind, shared by the process) and writes through the same handle, which stores the response to
//! each write in the cache at once. Therefore a reconcile never acts on a state older than its own writes.

pub mod aggregates;
mod answers;
mod applied;
mod aside;
pub mod batch;
mod cache;
mod caches;
pub mod clusters;
pub mod conditions;
mod connection_cause;
mod connection_state;
pub mod contract;
pub mod controller;
pub mod deletion_grace;
mod descriptor;
mod error;
pub mod etcd;
mod event_bursts;
pub mod events;
pub mod external;
mod failures;
pub mod finalizer;
pub mod in_place;
pub mod initialization;
mod limits;
mod manager;
pub mod messages;
pub mod metrics;
pub mod names;
pub mod object;
pub mod objects;
pub mod owners;
pub mod patch;
pub mod paused;
pub mod planned;
pub mod propagated;
pub mod queue;
mod quota;
mod resident;
mod resync;
mod scope;
pub mod selector;
pub mod startup;
pub mod steps;
pub mod testing;
pub mod time;
mod upstream;
pub mod v1beta1;
pub mod versions;
mod watch;
mod workload_clients;

pub use applied::Applied;
pub use aside::aside;
pub use cache::{Cache, Change};
pub use clusters::{ClusterCache, Health, Workload};
pub use controller::{Action, Controller, Reconciler};
pub use descriptor::{Descriptor, GroupKind, InventoryEntry, Provider};
pub use error::{Error, Result, unless_gone};
pub use external::{External, ExternalObject};
pub use manager::{Manager, ManagerOptions, Settings};
pub use object::{Kind, NamespacedName, Request};
pub use objects::Objects;
pub use planned::{Frame, Left, Membership, Outcome, Planned};
pub use queue::Queue;
pub use scope::Scope;
pub use steps::{Plan, Step, Steps, Stepwise, Tools};
pub use upstream::Upstream;
