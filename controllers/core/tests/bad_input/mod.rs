//! What becomes of input that is wrong: it is told in a condition, nothing that was stored is lost, and the plan is the same the next time.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod providers;
