//! `spec.conversion`: the webhook that converts between versions, and the cache of converted objects.

use std::collections::BTreeMap;

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;

use super::client_config::WebhookClientConfig;

/// Maximum total size of cached converted objects, in bytes. If an object would exceed it, the whole cache is cleared.
const KEPT_BYTES: usize = 32 * 1024 * 1024;

/// `spec.conversion` with the strategy `Webhook`.
#[derive(Debug)]
pub struct Conversion {
    /// The address of the webhook; `None` if it is invalid.
    pub client: Option<WebhookClientConfig>,
    /// The version of ConversionReview to send: the first in `conversionReviewVersions` that this server supports.
    pub review: &'static str,
    kept: Mutex<Kept>,
}

/// Cached converted objects by revision and `apiVersion`. An object at a given revision never changes.
#[derive(Debug, Default)]
struct Kept {
    objects: BTreeMap<(u64, String), Bytes>,
    size: usize,
}

impl Conversion {
    /// Reads `spec.conversion`. Returns `None` unless its strategy is `Webhook`.
    pub(crate) fn parse(conversion: &Value) -> Option<Self> {
        if conversion["strategy"] != "Webhook" {
            return None;
        }
        let webhook = &conversion["webhook"];
        let mut versions = webhook["conversionReviewVersions"].as_array().into_iter().flatten();
        let review = versions.find_map(|version| match version.as_str() {
            Some("v1") => Some("v1"),
            Some("v1beta1") => Some("v1beta1"),
            _ => None,
        });
        Some(Self {
            client: WebhookClientConfig::parse(&webhook["clientConfig"]),
            review: review.unwrap_or("v1"),
            kept: Mutex::default(),
        })
    }

    /// Returns a converted object from the cache.
    pub fn kept(&self, revision: u64, api_version: &str) -> Option<Bytes> {
        self.kept.lock().objects.get(&(revision, api_version.to_owned())).cloned()
    }

    /// Adds a converted object to the cache.
    pub fn keep(&self, revision: u64, api_version: &str, object: Bytes) {
        let mut kept = self.kept.lock();
        if kept.size + object.len() > KEPT_BYTES {
            *kept = Kept::default();
        }
        kept.size += object.len();
        kept.objects.insert((revision, api_version.to_owned()), object);
    }
}
