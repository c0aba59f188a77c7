//! Webhooks: where they are, the door through which they are called, and how their failures are worded.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::registry::Registry;

/// Why a call has no answer when its time is over; the words of Go's `context` package.
pub const DEADLINE: &str = "context deadline exceeded";

/// The port of a service when none is given.
const SERVICE_PORT: u16 = 443;

/// Longest text of a webhook's answer that an error quotes, bytes.
const QUOTED: usize = 2048;

/// A call: one POST of JSON.
#[derive(Debug, Clone)]
pub struct WebhookRequest {
    /// `https://host:port/path?timeout=10s`. Its host is the name that the server's certificate must carry.
    pub url: String,
    /// Host and port to dial instead of the URL's.
    pub address: Option<(String, u16)>,
    /// PEM of the authorities to trust; empty: those of the machine.
    pub ca_bundle: Vec<u8>,
    /// How long the whole call may take.
    pub timeout: Duration,
    /// JSON.
    pub body: Bytes,
}

/// What came back, whatever its code.
#[derive(Debug, Clone)]
pub struct WebhookResponse {
    /// HTTP status code.
    pub code: u16,
    /// The `Content-Type`, empty for none.
    pub content_type: String,
    /// The body.
    pub body: Bytes,
}

/// The door to webhooks.
pub trait WebhookCaller: Send + Sync {
    /// Makes one call within its time limit.
    ///
    /// # Errors
    /// Why there is no response, in the words of Go's HTTP client without the URL (`dial tcp 10.0.0.1:443: connect:
    /// connection refused`); [`DEADLINE`] when the time is over.
    fn post(&self, request: WebhookRequest) -> BoxFuture<'_, Result<WebhookResponse, String>>;
}

/// A call failed: no connection, no answer, or one that is no success. Displays as client-go words it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WebhookError(pub String);

/// `clientConfig`: where a webhook is and whom to trust there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookClientConfig {
    /// The address.
    pub target: WebhookTarget,
    /// PEM, empty for none.
    pub ca_bundle: Vec<u8>,
}

/// The address of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookTarget {
    /// `url`
    Url(String),
    /// `service`
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port, 443 unless given.
        port: u16,
        /// Path of the URL, empty for none.
        path: String,
    },
}

impl WebhookClientConfig {
    /// Reads `clientConfig` of a webhook configuration or of a conversion; `None` when it has neither `url` nor `service`, or its
    /// `caBundle` is no base64.
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

    /// The URL that is called, with the time limit as webhooks are told it.
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

/// As client-go cleans a path before it calls: no empty segments, `.` or `..`, no slash at the end. envtest, for one, writes
/// `https://host:port//path`.
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

/// `30s`, `1m30s`: whole seconds, rounded up.
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
    /// Posts `body` to a webhook and answers the JSON that comes back.
    ///
    /// # Errors
    /// As client-go words them: `Post "https://…": …` without a response, else what the response says.
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

    /// Where a service answers: the first ready endpoint of its EndpointSlices, then of its Endpoints; an `ExternalName` as it
    /// stands. There is no cluster network here, so that the cluster address leads nowhere.
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

    /// An object in its stored version, when the kind is served and the object is there.
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

/// The number of the port of that name; of the only one when neither has a name.
fn port_number(ports: &Value, name: &str) -> Option<u16> {
    let mut ports = ports.as_array()?.iter();
    let found = ports.find(|port| port["name"].as_str().unwrap_or_default() == name)?;
    u16::try_from(found["port"].as_u64()?).ok()
}

/// The JSON of a successful response.
fn read(response: &WebhookResponse) -> Result<Value, String> {
    if !(200..=206).contains(&response.code) {
        return Err(unsuccessful(response));
    }
    let decoded = machinery::decode::json(&response.body);
    decoded
        .map(|decoded| decoded.value)
        .map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))
}

/// What client-go makes of a response that is no success: the message of a `Status`, else words for the code.
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
