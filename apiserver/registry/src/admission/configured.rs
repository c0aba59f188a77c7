//! The compiled admission configurations of the API.

use super::mutator::Mutator;
use super::policy::Policy;
use super::webhook::Webhook;

/// All compiled configurations.
#[derive(Default)]
pub(crate) struct Configured {
    pub(crate) mutators: Vec<Mutator>,
    pub(crate) mutating: Vec<Webhook>,
    pub(crate) validating: Vec<Webhook>,
    pub(crate) policies: Vec<Policy>,
}

impl Configured {
    /// Returns whether there are policies or webhooks that change objects.
    pub(crate) fn mutates(&self) -> bool {
        !self.mutators.is_empty() || !self.mutating.is_empty()
    }
}
