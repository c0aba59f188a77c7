//! Tests clusterctl's verbs with recorded outputs.

mod configuration;
mod connection;
mod convert;
mod describe;
mod install;
mod repositories;
mod rollout;
mod substitution;
mod upgrade;
mod yaml;
