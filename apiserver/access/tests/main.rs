//! Tests of who a request is from, and of what policy rules allow. The tests of the server cover requests as a whole.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod credentials;
mod impersonation;
mod rules;
