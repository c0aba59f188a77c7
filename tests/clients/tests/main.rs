//! Tests of real clients against a fresh server.

mod kube_rs;
mod newcomer;
mod programs;
mod proxies;
mod registry;
mod transcripts;
