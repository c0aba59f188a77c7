//! The envtest suites of other projects, with `firstlight envtest DIR` in place of envtest's binaries.
//!
//! `tests/clients/suites/NAME.txt` says what is run:
//!
//! ```text
//! # Prose, ignored.
//! module sigs.k8s.io/controller-runtime v0.24.1   a module of the Go proxy, which holds the tests, too
//! package pkg/client                              a folder with tests in it
//! fails NAME OF A TEST                            one of the package above that fails: a spec's texts, or Test/subtest
//!   why it fails                                  in one or more lines
//! ```
//!
//! A test that fails without being listed fails the run, and so does one that is listed and passes or does not exist.

pub mod judge;
pub mod list;
pub mod module;
pub mod results;
