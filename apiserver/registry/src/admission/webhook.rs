//! One admission webhook of a configuration.

use std::time::Duration;

use cel::program::Environment;
use kinds::admission::REQUEST;
use kinds::definition::WebhookClientConfig;
use serde_json::Value;

use super::conditions::Conditions;
use super::matcher::Matcher;

/// A webhook that is ready to be called.
pub(crate) struct Webhook {
    pub(crate) name: String,
    pub(crate) matcher: Matcher,
    pub(crate) conditions: Conditions,
    /// `None` if `clientConfig` is invalid.
    pub(crate) client: Option<WebhookClientConfig>,
    pub(crate) timeout: Duration,
    /// Whether the request passes if the call fails (`failurePolicy: Ignore`).
    pub(crate) ignore: bool,
    /// Whether the webhook may be called again after others have changed the object (`reinvocationPolicy: IfNeeded`).
    pub(crate) again: bool,
    /// Whether the webhook may be called for a dry run.
    pub(crate) dry_run: bool,
    /// The `apiVersion` of the AdmissionReview that the webhook supports.
    pub(crate) version: &'static str,
}

/// The timeout of webhooks without `timeoutSeconds`.
const TIMEOUT_SECONDS: u64 = 10;

impl Webhook {
    /// Returns the webhooks of a configuration, in order.
    pub(crate) fn all(configuration: &Value) -> impl Iterator<Item = Self> {
        configuration["webhooks"].as_array().into_iter().flatten().map(Self::of)
    }

    fn of(webhook: &Value) -> Self {
        let versions = webhook["admissionReviewVersions"].as_array().into_iter().flatten();
        let known = versions.filter_map(Value::as_str).find_map(|version| match version {
            "v1" => Some("admission.k8s.io/v1"),
            "v1beta1" => Some("admission.k8s.io/v1beta1"),
            _ => None,
        });
        Self {
            name: webhook["name"].as_str().unwrap_or_default().to_owned(),
            matcher: Matcher::of_webhook(webhook),
            conditions: Conditions::of(webhook, &Environment::new(&REQUEST)),
            client: WebhookClientConfig::parse(&webhook["clientConfig"]),
            timeout: Duration::from_secs(webhook["timeoutSeconds"].as_u64().unwrap_or(TIMEOUT_SECONDS)),
            ignore: webhook["failurePolicy"] == "Ignore",
            again: webhook["reinvocationPolicy"] == "IfNeeded",
            dry_run: matches!(webhook["sideEffects"].as_str(), Some("None" | "NoneOnDryRun")),
            version: known.unwrap_or("admission.k8s.io/v1"),
        }
    }
}
