//! The compiled admission configurations of the API.

use super::policy::Policy;
use super::webhook::Webhook;

/// All compiled configurations.
#[derive(Default)]
pub(crate) struct Configured {
    pub(crate) mutating: Vec<Webhook>,
    pub(crate) validating: Vec<Webhook>,
    pub(crate) policies: Vec<Policy>,
}
