//! The tests of the API server's crates, a module for each.
//!
//! The files stand beside the sources that they test. `cargo xtask test NAME` runs those of one crate.

#[path = "../access/tests/main.rs"]
mod access;
#[path = "../apiextensions/tests/main.rs"]
mod apiextensions;
#[path = "../cel/tests/main.rs"]
mod cel;
#[path = "../files/tests/main.rs"]
mod files;
#[path = "../kinds/tests/main.rs"]
mod kinds;
#[path = "../machinery/tests/main.rs"]
mod machinery;
#[path = "../metrics/tests/metrics.rs"]
mod metrics;
#[path = "../net/tests/main.rs"]
mod net;
#[path = "../pki/tests/pki.rs"]
mod pki;
#[path = "../portforward/tests/main.rs"]
mod portforward;
#[path = "../registry/tests/main.rs"]
mod registry;
#[path = "../serving/tests/main.rs"]
mod serving;
#[path = "../store/tests/main.rs"]
mod store;
#[path = "../webhook/tests/main.rs"]
mod webhook;
