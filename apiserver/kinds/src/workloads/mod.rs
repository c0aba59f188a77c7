//! Deployments, ReplicaSets, DaemonSets, StatefulSets, ReplicationControllers and PodDisruptionBudgets.

pub(crate) mod columns;
mod counters;
mod daemon_set;
mod deployment;
mod disruption_budget;
pub(crate) mod kinds;
mod replication_controller;
mod stateful_set;
pub(crate) mod template;
mod warnings;
