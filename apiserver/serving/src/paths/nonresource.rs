//! Non-resource paths: discovery, OpenAPI, version, health, metrics.

use std::net::SocketAddr;

use access::tokens::{DISCOVERY_PATH, JWKS_PATH};
use access::{Tokens, User};
use http::header::{ACCEPT, CACHE_CONTROL};
use http::request::Parts;
use http::{HeaderValue, Method};
use machinery::clock::Clock;
use machinery::status::Status;
use registry::Registry;
use registry::limits::ASIDE_FROM_BYTES;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::options::VersionInfo;
use crate::paths::discovery::answer::DiscoveryPaths;
use crate::paths::given::{GivenPath, PathRequest};
use crate::paths::health::{Check, HealthPaths};
use crate::paths::openapi::answer::OpenApiPaths;
use crate::paths::routed::{is_built_in_group, is_routed};
use crate::request::aside::aside;
use crate::request::query::Query;
use crate::request::read_body::{RequestBody, Uploads};
use crate::resources::connect::ConnectResource;
use crate::response::answer::Answer;
use crate::response::negotiate::{Media, meets, no_representation};
use crate::response::reply::Reply;

/// What a path says to a method that it does not answer.
const NOT_ALLOWED: &str = "the server does not allow this method on the requested resource";

/// What the embedding program has chosen about these paths.
pub(crate) struct Options {
    pub(crate) version: VersionInfo,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) metrics: metrics::Metrics,
    pub(crate) given: Vec<GivenPath>,
    pub(crate) checks: Vec<(String, Check)>,
    /// The subresources that are implemented in Rust.
    pub(crate) connects: Vec<ConnectResource>,
}

/// The paths that name no resource.
pub(crate) struct NonResourcePaths {
    registry: Registry,
    version: VersionInfo,
    tokens: Option<Tokens>,
    /// The metrics that `/metrics` returns, including those of the embedding program.
    metrics: metrics::Metrics,
    /// The paths of the embedding program.
    given: Vec<GivenPath>,
    health: HealthPaths,
    discovery: DiscoveryPaths,
    openapi: OpenApiPaths,
}

impl NonResourcePaths {
    pub(crate) fn new(
        registry: &Registry,
        clock: &Clock,
        stop: &CancellationToken,
        options: Options,
    ) -> Self {
        let Options { version, tokens, metrics, given, checks, connects } = options;
        Self {
            registry: registry.clone(),
            health: HealthPaths::new(checks, stop.clone()),
            discovery: DiscoveryPaths::new(registry.clone(), connects),
            openapi: OpenApiPaths::new(registry.clone(), version.clone(), clock.clone()),
            version,
            tokens,
            metrics,
            given,
        }
    }

    /// Lets discovery name the address of the server.
    pub(crate) fn advertise(&self, address: SocketAddr) {
        self.discovery.advertise(address);
    }

    /// Returns what the embedding program answers to requests for a path: the most specific of its paths.
    pub(crate) fn given(&self, path: &str) -> Option<&GivenPath> {
        let given = self.given.iter().filter(|given| given.matches(path));
        given.max_by_key(|given| given.path.len())
    }

    /// Answers a request for a non-resource path of the server itself, the one that was authorized. Request bodies are not read.
    pub(crate) fn answer(&self, parts: &Parts, path: &str, query: &Query) -> Reply {
        let known = self.only_get(path, parts).or_else(|| self.health.answer(path, query));
        let answer = match known {
            Some(Ok(answer)) => answer,
            Some(Err(status)) => Answer::error(&status, &parts.headers),
            // Unknown paths below `/api` and built-in groups are answered with a `Status`.
            None if path.starts_with("/api/") || is_built_in_group(&self.registry.definitions(), path) => {
                Answer::error(&Status::no_such_path(), &parts.headers)
            }
            None => Answer::page_not_found(),
        };
        answer.into()
    }

    /// Answers documents that can only be read.
    fn only_get(&self, path: &str, parts: &Parts) -> Option<Result<Answer, Status>> {
        let answer = match path {
            "/version" | "/version/" if !meets(&parts.headers, &["json"]) => {
                Err(no_representation("application/json"))
            }
            // Always indented, as in kube-apiserver.
            "/version" | "/version/" => {
                let media = Media { pretty: true, ..crate::response::negotiate::JSON };
                Ok(Answer::json(200, vec![version(&self.version).into()], media))
            }
            _ if path.starts_with("/version/") => Err(Status::no_such_path()),
            "/metrics" => {
                let accept = parts.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
                let (media, text) = self.metrics.answer(accept);
                Ok(Answer::new(200, media, text))
            }
            DISCOVERY_PATH | JWKS_PATH => self.openid(path, parts)?,
            "/" => Ok(Answer::value(200, &self.paths(), crate::response::negotiate::JSON)),
            // This path answers every method.
            "/openapi/v3/" => Ok(Answer::empty(404)),
            _ if path.starts_with("/openapi/") && path.ends_with('/') => return None,
            // These documents are large and built on first use.
            _ if path.starts_with("/openapi/") => {
                return aside(ASIDE_FROM_BYTES, || self.openapi.answer(path, parts)).map(Ok);
            }
            _ => self.discovery.answer(path, &parts.headers)?,
        };
        let head = parts.method == Method::HEAD && !is_routed(&self.registry.definitions(), path);
        let reads = parts.method == Method::GET || head;
        if !reads && !self.answers_to_all(path) {
            return Some(Err(Status::method_not_allowed(NOT_ALLOWED)));
        }
        Some(answer)
    }

    /// Returns whether the path answers every method: `/`, group lists, groups, and versions of custom
    /// resources.
    fn answers_to_all(&self, path: &str) -> bool {
        path == "/" || path.starts_with("/apis") && !is_routed(&self.registry.definitions(), path)
    }

    /// Returns the OpenID documents by which others verify service account tokens.
    fn openid(&self, path: &str, parts: &Parts) -> Option<Result<Answer, Status>> {
        let tokens = self.tokens.as_ref()?;
        let (subtype, content_type, document) = match path {
            JWKS_PATH => ("jwk-set+json", "application/jwk-set+json", tokens.jwks()),
            _ => ("json", "application/json", tokens.discovery()),
        };
        if !meets(&parts.headers, &[subtype]) {
            return Some(Err(no_representation(content_type)));
        }
        let mut answer = Answer::new(200, content_type, document.to_string());
        answer.headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
        Some(Ok(answer))
    }

    /// Returns the list of all paths, the document at `/`.
    fn paths(&self) -> Value {
        let mut paths: Vec<String> = self.discovery.paths();
        let others = ["/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"];
        paths.extend(others.map(str::to_owned));
        if self.tokens.is_some() {
            paths.extend([DISCOVERY_PATH, JWKS_PATH].map(str::to_owned));
        }
        paths.extend(self.given.iter().map(|given| given.path.to_owned()));
        paths.sort();
        json!({ "paths": paths })
    }
}

/// Lets the embedding program answer a request for one of its paths.
pub(crate) async fn answer_given(
    uploads: &Uploads,
    given: &GivenPath,
    path: &str,
    parts: &Parts,
    user: &User,
    body: RequestBody,
) -> Result<Reply, Status> {
    if !given.methods.contains(&parts.method) {
        return Err(Status::method_not_allowed(NOT_ALLOWED));
    }
    let body = uploads.read(body).await?;
    let request = PathRequest {
        method: parts.method.clone(),
        path: path.to_owned(),
        uri: parts.uri.clone(),
        headers: parts.headers.clone(),
        user: user.clone(),
        body,
    };
    Ok(Reply::Response(Box::new((given.handler)(request).await?)))
}

/// Returns the JSON text of the version, in the order of Go's struct.
fn version(info: &VersionInfo) -> String {
    let mut numbers = info.git_version.trim_start_matches('v').split('.');
    let major = numbers.next().unwrap_or_default();
    let minor = numbers.next().unwrap_or_default();
    let (oldest, platform) = (before(minor), format!("{}/{}", std::env::consts::OS, platform()));
    let fields = [
        ("major", major),
        ("minor", minor),
        ("emulationMajor", major),
        ("emulationMinor", minor),
        ("minCompatibilityMajor", major),
        ("minCompatibilityMinor", &oldest),
        ("gitVersion", &info.git_version),
        ("gitCommit", &info.git_commit),
        ("gitTreeState", "clean"),
        ("buildDate", &info.build_date),
        ("goVersion", ""),
        ("compiler", "rustc"),
        ("platform", &platform),
    ];
    let fields = fields.map(|(name, value)| format!("\"{name}\":{}", Value::from(value)));
    format!("{{{}}}", fields.join(","))
}

/// Returns the previous minor version, the oldest one that this server is compatible with.
fn before(minor: &str) -> String {
    minor.parse::<u32>().map_or_else(|_| minor.to_owned(), |minor| minor.saturating_sub(1).to_string())
}

fn platform() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
