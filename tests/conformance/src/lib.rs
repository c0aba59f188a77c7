//! Recorded requests with the responses of a real kube-apiserver, replayed in process.
//!
//! `golden/TOPIC.json` holds the cases of a topic, `golden/_fixtures.json` the definitions that they share.
//! Each topic has its own server and thread with a paused clock, so that waiting costs no time and every run
//! is the same. Before the comparison, responses are [normalised](normalise): values that differ between runs
//! (UIDs, times, resource versions, generated names) become placeholders that preserve required properties,
//! such as the order of resource versions.

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
