//! Recorded requests with the answers of a real kube-apiserver, replayed in process.
//!
//! `golden/TOPIC.json` holds the cases of a topic, `golden/_fixtures.json` the definitions that they share. A topic has a server and
//! a thread of its own, under a paused clock, so a case that waits costs nothing and every run is the same. Before they are compared,
//! answers are [normalised](normalise): what differs from run to run (uids, times, resource versions, generated names) becomes a
//! placeholder that keeps what must hold, such as the order of resource versions.

pub mod compare;
pub mod fixtures;
pub mod known;
pub mod model;
pub mod normalise;
pub mod page;
pub mod paths;
pub mod plane;
pub mod read;
pub mod run;
pub mod substitute;
pub mod wait;
