//! Tests of `clusterctl::yaml`.

mod documents;
