//! The Kubernetes clients of workload clusters, whose answers are limited in time and size.

pub mod bounded;
mod client;

pub use client::WorkloadClients;
