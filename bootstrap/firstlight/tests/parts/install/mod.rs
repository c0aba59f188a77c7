//! Tests of `firstlight::parts::install`.

mod bare_metal;
mod manifests;
