//! The envtest suites of other projects, with `firstlight envtest DIR` in place of envtest's binaries.
//!
//! `tests/clients/suites/NAME.txt` lists what is run:
//!
//! ```text
//! # Prose, ignored.
//! module sigs.k8s.io/controller-runtime v0.24.1   a module of the Go proxy, which holds the tests, too
//! package pkg/client                              a folder with tests in it
//! fails NAME OF A TEST                            one of the package above that fails: a spec's texts, or Test/subtest
//!   why it fails                                  in one or more lines
//! ```
//!
//! A failing test that is not listed fails the run; so does a listed test that passes or does not exist.

pub mod judge;
pub mod list;
pub mod module;
pub mod results;
