//! Tests of the engine over clients whose servers belong to the tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "tests")]

mod answers;
mod applied;
mod batch;
mod cache;
mod conditions;
mod connection_cause;
mod connection_state;
mod contract;
mod controller;
mod etcd;
mod events;
mod external;
mod failures;
mod names;
mod object;
mod patch;
mod planned;
mod propagated;
mod queue;
mod quota;
mod resident;
mod scope;
mod selector;
mod steps;
mod support;
mod v1beta1;
mod versions;
mod watch;
mod workload_clients;
