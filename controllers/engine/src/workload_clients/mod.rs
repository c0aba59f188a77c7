//! The Kubernetes clients of workload clusters, whose answers are limited in time and size.

mod bounded;
mod client;

pub(crate) use bounded::Answers;
pub use client::WorkloadClients;
