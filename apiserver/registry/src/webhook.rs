//! Calls of webhooks: their addresses, the interface to the HTTP client, and the error messages.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::registry::Registry;

/// The error of a call that has timed out, with the message of Go's `context` package.
pub const DEADLINE: &str = "context deadline exceeded";

/// The default port of a service.
const SERVICE_PORT: u16 = 443;

/// Maximum number of bytes of a response that an error message quotes.
const QUOTED: usize = 2048;

/// A call: a POST request with JSON.
#[derive(Debug, Clone)]
pub struct WebhookRequest {
    /// For example `https://host:port/path?timeout=10s`. The certificate of the server must be valid for its host.
    pub url: String,
    /// Host and port of the connection, if they differ from the URL.
    pub address: Option<(String, u16)>,
    /// CA certificates to trust, as PEM. If empty, the CA certificates of the system are trusted.
    pub ca_bundle: Vec<u8>,
    /// Timeout of the whole call.
    pub timeout: Duration,
    /// The request body, JSON.
    pub body: Bytes,
}

/// The response, with any status code.
#[derive(Debug, Clone)]
pub struct WebhookResponse {
    /// The HTTP status code.
    pub code: u16,
    /// The `Content-Type`; empty if absent.
    pub content_type: String,
    /// The body.
    pub body: Bytes,
}

/// The interface to the HTTP client for webhooks.
pub trait WebhookCaller: Send + Sync {
    /// Makes one call within its timeout.
    ///
    /// # Errors
    /// Why there is no response, with the message of Go's HTTP client but without the URL (`dial tcp 10.0.0.1:443:
    /// connect: connection refused`), or [`DEADLINE`] after the timeout.
    fn post(&self, request: WebhookRequest) -> BoxFuture<'_, Result<WebhookResponse, String>>;
}

/// A failed call: there is no connection, no response, or no success. Its message is that of client-go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WebhookError(pub String);

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
    fn url(&self, timeout: Duration) -> String {
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
    let seconds = duration.as_millis().div_ceil(1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

impl Registry {
    /// Posts `body` to a webhook and returns the JSON of the response.
    ///
    /// # Errors
    /// With the messages of client-go: `Post "https://…": …` if there is no response, else according to the response.
    pub async fn call_webhook(
        &self,
        config: &WebhookClientConfig,
        timeout: Duration,
        body: &Value,
    ) -> Result<Value, WebhookError> {
        let url = config.url(timeout);
        let failed = |why: String| WebhookError(format!("Post {url:?}: {why}"));
        let caller = self.0.options.webhooks.as_ref();
        let caller = caller.ok_or_else(|| failed("this server calls no webhooks".to_owned()))?;
        let address = match &config.target {
            WebhookTarget::Url(_) => None,
            WebhookTarget::Service { namespace, name, port, .. } => {
                Some(self.resolve_service(namespace, name, *port).map_err(failed)?)
            }
        };
        let request = WebhookRequest {
            url: url.clone(),
            address,
            ca_bundle: config.ca_bundle.clone(),
            timeout,
            body: crate::document::text(body),
        };
        let response = caller.post(request).await.map_err(failed)?;
        read(&response).map_err(WebhookError)
    }

    /// Returns the address of a Service: the first ready endpoint of its EndpointSlices, else of its Endpoints, or the
    /// host of an `ExternalName`. The cluster IP cannot be used, because there is no cluster network.
    fn resolve_service(&self, namespace: &str, name: &str, port: u16) -> Result<(String, u16), String> {
        let service = self.stored_object("", "services", namespace, name);
        let service = service.ok_or_else(|| format!("service \"{name}\" not found"))?;
        let spec = &service["spec"];
        if let (Some("ExternalName"), Some(host)) = (spec["type"].as_str(), spec["externalName"].as_str()) {
            return Ok((host.to_owned(), port));
        }
        let ports = spec["ports"].as_array().into_iter().flatten();
        let found = ports.into_iter().find(|found| found["port"] == port);
        let found = found.ok_or_else(|| format!("no service port {port} found for service \"{name}\""))?;
        let port_name = found["name"].as_str().unwrap_or_default();
        self.slice_address(namespace, name, port_name)
            .or_else(|| self.endpoints_address(namespace, name, port_name))
            .ok_or_else(|| format!("no endpoints available for service \"{name}\""))
    }

    fn slice_address(&self, namespace: &str, service: &str, port: &str) -> Option<(String, u16)> {
        const SERVICE_NAME: &str = "kubernetes.io/service-name";
        let slices = self.stored_objects("discovery.k8s.io", "endpointslices", namespace);
        let own = |slice: &&Value| slice["metadata"]["labels"][SERVICE_NAME] == service;
        slices.iter().filter(own).find_map(|slice| {
            let number = port_number(&slice["ports"], port)?;
            let mut endpoints = slice["endpoints"].as_array()?.iter();
            let ready = endpoints.find(|endpoint| endpoint["conditions"]["ready"] != false)?;
            Some((ready["addresses"][0].as_str()?.to_owned(), number))
        })
    }

    fn endpoints_address(&self, namespace: &str, service: &str, port: &str) -> Option<(String, u16)> {
        let endpoints = self.stored_object("", "endpoints", namespace, service)?;
        endpoints["subsets"].as_array()?.iter().find_map(|subset| {
            let number = port_number(&subset["ports"], port)?;
            Some((subset["addresses"][0]["ip"].as_str()?.to_owned(), number))
        })
    }

    /// Returns an object in its stored version. Returns `None` if the kind is not served or the object does not exist.
    pub(crate) fn stored_object(
        &self,
        group: &str,
        plural: &str,
        namespace: &str,
        name: &str,
    ) -> Option<Value> {
        let definitions = self.definitions();
        let key = crate::keys::object(definitions.get(group, plural)?, namespace, name);
        machinery::decode::own(&self.storage().get(&key)?.value).ok()
    }

    pub(crate) fn stored_objects(&self, group: &str, plural: &str, namespace: &str) -> Vec<Value> {
        let definitions = self.definitions();
        let Some(definition) = definitions.get(group, plural) else { return Vec::new() };
        let (stored, _) = self.storage().range(&crate::keys::namespace(definition, namespace));
        stored.iter().filter_map(|entry| machinery::decode::own(&entry.value).ok()).collect()
    }
}

/// Returns the number of the port with the given name. An empty name matches a port without a name.
fn port_number(ports: &Value, name: &str) -> Option<u16> {
    let mut ports = ports.as_array()?.iter();
    let found = ports.find(|port| port["name"].as_str().unwrap_or_default() == name)?;
    u16::try_from(found["port"].as_u64()?).ok()
}

/// Returns the JSON of a successful response.
fn read(response: &WebhookResponse) -> Result<Value, String> {
    if !(200..=206).contains(&response.code) {
        return Err(unsuccessful(response));
    }
    let decoded = machinery::decode::json(&response.body);
    decoded
        .map(|decoded| decoded.value)
        .map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))
}

/// Returns client-go's message for an unsuccessful response: the message of a `Status`, else a text for the status
/// code.
fn unsuccessful(response: &WebhookResponse) -> String {
    if let Ok(status) = machinery::decode::json(&response.body).map(|decoded| decoded.value)
        && status["kind"] == "Status"
        && let Some(message) = status["message"].as_str()
    {
        return message.to_owned();
    }
    let text = response.content_type.is_empty() || response.content_type.starts_with("text/");
    let body = String::from_utf8_lossy(&response.body[..response.body.len().min(QUOTED)]);
    let said = if text { body.trim() } else { "unknown" };
    match response.code {
        400 => "the server rejected our request for an unknown reason".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        403 | 415 => said.to_owned(),
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        406 if !said.is_empty() && said != "unknown" => said.to_owned(),
        406 => "the server was unable to respond with a content type that the client supports".to_owned(),
        409 => "the server reported a conflict".to_owned(),
        422 => "the server rejected our request due to an error in our request".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the request".to_owned(),
        500.. => format!("an error on the server ({said:?}) has prevented the request from succeeding"),
        code => format!(
            "the server responded with the status code {code} but did not return more information"
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn urls() {
        for (config, wanted) in [
            (json!({"url": "https://127.0.0.1:9443"}), "https://127.0.0.1:9443/?timeout=30s"),
            (json!({"url": "https://host/convert"}), "https://host/convert?timeout=30s"),
            (json!({"url": "https://host:1//a/./b/../c/"}), "https://host:1/a/c?timeout=30s"),
            (
                json!({"service": {"namespace": "ns", "name": "svc", "path": "/convert"}}),
                "https://svc.ns.svc:443/convert?timeout=30s",
            ),
            (
                json!({"service": {"namespace": "ns", "name": "svc", "port": 9443}}),
                "https://svc.ns.svc:9443/?timeout=30s",
            ),
        ] {
            let config = WebhookClientConfig::parse(&config).unwrap();
            assert_eq!(config.url(Duration::from_secs(30)), wanted);
        }
        assert_eq!(WebhookClientConfig::parse(&json!({})), None);
        assert_eq!(go_duration(Duration::from_millis(90_001)), "1m31s");
    }

    #[test]
    fn responses_in_the_words_of_client_go() {
        for (code, content_type, body, wanted) in [
            (404, "text/plain", "404 page not found", "the server could not find the requested resource"),
            (
                500,
                "text/plain",
                "boom\n",
                "an error on the server (\"boom\") has prevented the request from succeeding",
            ),
            (500, "application/json", r#"{"kind":"Status","message":"said so"}"#, "said so"),
            (
                302,
                "text/html",
                "",
                "the server responded with the status code 302 but did not return more information",
            ),
            (
                200,
                "text/html",
                "<html>",
                "couldn't get version/kind; json parse error: invalid character '<' looking for beginning of value",
            ),
        ] {
            let response = WebhookResponse {
                code,
                content_type: content_type.into(),
                body: Bytes::from_static(body.as_bytes()),
            };
            assert_eq!(read(&response).unwrap_err(), wanted);
        }
    }
}
