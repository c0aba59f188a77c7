//! Tests of `kubelet::logs`.

mod read;
