//! Tests of `addons::resource_set`.

mod manifests;
mod plan;
mod remote;
mod status;
