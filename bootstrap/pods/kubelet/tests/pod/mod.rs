//! Tests of `kubelet::pod`.

mod image;
mod plan;
mod ports;
mod program;
mod stop;
