//! Tests of `clusterctl::upgrade`.

mod releases;
