//! `spec.conversion`: the webhook that converts between versions.

use serde_json::Value;

use super::client_config::WebhookClientConfig;

/// `spec.conversion` with the strategy `Webhook`.
#[derive(Debug)]
pub struct Conversion {
    /// The address of the webhook; `None` if it is invalid.
    pub client: Option<WebhookClientConfig>,
    /// The version of ConversionReview to send: the first in `conversionReviewVersions` that this server supports.
    pub review: &'static str,
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
        })
    }
}
