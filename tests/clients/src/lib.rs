//! Transcripts of sessions: the commands that a user types, and the required output of the real kubectl and
//! of `firstlight`.
//!
//! A transcript is a text file in `transcripts/`:
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
//! [`pattern`] describes the placeholders in expected output. `UPDATE_EXPECT=1` writes the actual output into
//! the transcript.

pub mod pattern;
pub mod scenarios;
pub mod session;
pub mod suites;
pub mod transcript;
