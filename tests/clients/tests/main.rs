//! Tests of real clients against a fresh server.

mod kube_rs;
mod programs;
mod registry;
mod transcripts;
