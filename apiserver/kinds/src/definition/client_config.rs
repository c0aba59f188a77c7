//! `clientConfig`: the addresses of webhooks in configurations of admission and of conversion.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The default port of a service.
const SERVICE_PORT: u16 = 443;

/// `clientConfig`: the address of a webhook and the CA certificates to trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookClientConfig {
    /// The address.
    pub target: WebhookTarget,
    /// CA certificates as PEM; empty if absent.
    pub ca_bundle: Vec<u8>,
}

/// The address of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookTarget {
    /// `url`.
    Url(String),
    /// `service`.
    Service {
        /// The namespace of the Service.
        namespace: String,
        /// The name of the Service.
        name: String,
        /// The port of the Service; 443 by default.
        port: u16,
        /// The path of the URL; empty if absent.
        path: String,
    },
}

impl WebhookClientConfig {
    /// Reads `clientConfig` of a webhook configuration or a conversion. Returns `None` if it has neither `url` nor
    /// `service`, or if its `caBundle` is not valid Base64.
    pub fn parse(config: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let service = &config["service"];
        let target = if service.is_object() {
            let port = service["port"].as_u64().and_then(|port| u16::try_from(port).ok());
            WebhookTarget::Service {
                namespace: text(&service["namespace"]),
                name: text(&service["name"]),
                port: port.unwrap_or(SERVICE_PORT),
                path: text(&service["path"]),
            }
        } else {
            WebhookTarget::Url(config["url"].as_str()?.to_owned())
        };
        let ca_bundle = STANDARD.decode(config["caBundle"].as_str().unwrap_or_default()).ok()?;
        Some(Self { target, ca_bundle })
    }

    /// Returns the URL of the call, with the `timeout` parameter.
    pub fn url(&self, timeout: Duration) -> String {
        let (host, path) = match &self.target {
            WebhookTarget::Url(url) => {
                let after_scheme = url.find("://").map_or(0, |at| at + 3);
                let path = url[after_scheme..].find('/').map_or(url.len(), |at| after_scheme + at);
                (url[..path].to_owned(), &url[path..])
            }
            WebhookTarget::Service { namespace, name, port, path } => {
                (format!("https://{name}.{namespace}.svc:{port}"), path.as_str())
            }
        };
        format!("{host}{}?timeout={}", clean_path(path), go_duration(timeout))
    }
}

/// Cleans a path like client-go: removes empty segments, `.`, `..` and a trailing slash. envtest, for example,
/// configures `https://host:port//path`.
fn clean_path(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

/// Formats a duration like Go (`30s`, `1m30s`), rounded up to whole seconds.
fn go_duration(duration: Duration) -> String {
    let seconds = i64::try_from(duration.as_millis().div_ceil(1000)).unwrap_or(i64::MAX);
    machinery::duration::of_seconds(seconds)
}
