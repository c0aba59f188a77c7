//! Failures of the steps, which conditions report.

use engine::conditions::is_false;
use schemas::meta::Condition;

use crate::conditions::INSTALLED;

/// Why something could not be done.
#[derive(Debug)]
pub struct Failure {
    /// The type of the condition that reports it.
    pub condition: &'static str,
    /// The reason in it.
    pub reason: &'static str,
    /// The message in it.
    pub message: String,
    /// Whether the same may succeed later without an event.
    pub may_pass: bool,
}

impl Failure {
    pub(crate) fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { condition: INSTALLED, reason, message: message.into(), may_pass: false }
    }

    /// A failure of something that may be there later.
    pub(crate) fn passing(reason: &'static str, error: &clusterctl::Error) -> Self {
        Self { may_pass: true, ..Self::new(reason, error.to_string()) }
    }

    pub(crate) fn condition(&self) -> Condition {
        is_false(self.condition, self.reason, self.message.clone())
    }
}
