//! Tests of authentication and of policy rules. The tests of the server cover whole requests.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod credentials;
mod impersonation;
mod rules;
