//! Clusters with the Docker backend, with a server, Cluster API's core controllers, and a host of containers in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod cluster;
mod container_name;
mod failures;
mod fixture;
mod host;
mod kills;
mod machine;
mod pools;
mod replay;
mod storage;
mod upstream;
