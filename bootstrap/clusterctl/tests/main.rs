//! clusterctl's verbs against recorded outputs.

mod convert;
mod describe;
mod repositories;
mod substitution;
