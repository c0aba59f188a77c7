//! Tests of `firstlight::install`.

mod bare_metal;
mod manifests;
