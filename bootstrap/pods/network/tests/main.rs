//! Networks of Pods, tried from inside. They need root and `/dev/net/tun`.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

mod inside;
mod lookup;
mod outside;
mod pods;
