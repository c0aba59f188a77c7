//! The compiled admission configurations of the API, and their cache.

use std::sync::Arc;

use parking_lot::Mutex;

use super::policy::Policy;
use super::webhook::Webhook;

/// All compiled configurations.
#[derive(Default)]
pub(crate) struct Configured {
    pub(crate) mutating: Vec<Webhook>,
    pub(crate) validating: Vec<Webhook>,
    pub(crate) policies: Vec<Policy>,
}

/// The compiled configurations, and the change counter of the store for which they were compiled.
#[derive(Default)]
pub(crate) struct Cache(pub(crate) Mutex<(Option<u64>, Arc<Configured>)>);
