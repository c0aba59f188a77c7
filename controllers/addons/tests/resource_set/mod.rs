//! Tests of `addons::resource_set`.

mod generated;
mod manifests;
mod plan;
mod remote;
mod status;
