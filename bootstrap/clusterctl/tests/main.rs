//! Tests clusterctl's verbs with recorded outputs.

mod convert;
mod describe;
mod repositories;
mod substitution;
