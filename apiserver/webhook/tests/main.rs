//! Calls of webhooks and what admission makes of their answers.

mod admission;
mod calls;
