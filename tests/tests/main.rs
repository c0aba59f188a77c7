//! The tests of the suites, a module for each. Those that are test programs themselves are not among them: `clients`, `crash`, `pivot`,
//! `simulation` and `tidy`.
//!
//! The files stand beside the sources that they test. `cargo xtask test NAME` runs those of one crate.

#[path = "../attack/tests/main.rs"]
mod attack;
#[path = "../benches/tests/main.rs"]
mod benches;
#[path = "../conformance/tests/main.rs"]
mod conformance;
#[path = "../contract/tests/crds.rs"]
mod contract;
#[path = "../fuzz/tests/corpus.rs"]
mod fuzz;
#[path = "../linearizability/tests/checker.rs"]
mod linearizability;
#[path = "../netboot/tests/main.rs"]
mod netboot;
#[path = "../takeover/tests/main.rs"]
mod takeover;
#[path = "../xtask/tests/main.rs"]
mod xtask;
