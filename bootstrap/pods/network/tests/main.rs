//! Networks of Pods, tried from inside. They need root and `/dev/net/tun`.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be, and says why it skips"
)]

mod addresses;
mod dns;
mod gateway;
mod inside;
mod lookup;
mod outside;
mod packet;
mod pods;
mod six;
