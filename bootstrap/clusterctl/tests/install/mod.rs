//! Tests of `clusterctl::install`.

mod companions;
