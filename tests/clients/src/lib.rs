//! Transcripts: what a user types, and what the real kubectl and `firstlight` must print.
//!
//! A transcript is a text file of `transcripts/`:
//!
//! ```text
//! # Prose, ignored.
//! server: none                    first lines: no server (commands start it), or `server: --controllers none`
//! $ kubectl create namespace a    a command of bash; standard output and standard error are compared together
//! > more of the command           its further lines
//! namespace/a created             what it must print
//! ? 1                             its exit code, where it is not 0
//! wait:                           the command that follows is repeated until it matches
//! ```
//!
//! [`pattern`] says which placeholders an expected output may have. `UPDATE_EXPECT=1` writes what was printed into the transcript.

pub mod pattern;
pub mod session;
pub mod suites;
pub mod transcript;
