//! Where an extension answers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemas::runtime::{ClientConfig, ServiceReference};

use crate::hooks::Hook;
use crate::names::HOOKS_VERSION;

/// Returns the URL of a hook; `handler` is the name of the handler without that of its ExtensionConfig, and absent for discovery.
///
/// # Errors
/// Which field of `spec.clientConfig` is wrong, and why.
pub fn url(config: &ClientConfig, hook: Hook, handler: Option<&str>, seconds: i32) -> Result<String, String> {
    let base = match (&config.service, config.url.as_deref()) {
        (Some(service), _) => of_service(service),
        (None, Some(url)) => Base::parse(url).map_err(|why| format!(".url {url:?}: {why}"))?,
        (None, None) => return Err(" must have either url or service".to_owned()),
    };
    let name = handler.map(|handler| format!("/{}", handler.to_lowercase())).unwrap_or_default();
    let path = clean(&format!("{}/{HOOKS_VERSION}/{}{name}", base.path, hook.name().to_lowercase()));
    let query = base.query.map(|query| format!("{query}&")).unwrap_or_default();
    let timeout = machinery::duration::of_seconds(i64::from(seconds));
    Ok(format!("https://{}{path}?{query}timeout={timeout}", base.authority))
}

/// Returns the authorities in PEM that the certificate of the extension must follow from; empty for those of the machine.
///
/// # Errors
/// `caBundle` is not base64.
pub fn authority(config: &ClientConfig) -> Result<Vec<u8>, String> {
    let bundle = config.ca_bundle.as_deref().unwrap_or_default();
    STANDARD.decode(bundle).map_err(|error| format!(".caBundle is not base64: {error}"))
}

struct Base {
    authority: String,
    path: String,
    query: Option<String>,
}

fn of_service(service: &ServiceReference) -> Base {
    let port = service.port.map(|port| format!(":{port}")).unwrap_or_default();
    Base {
        authority: format!("{}.{}.svc{port}", service.name, service.namespace),
        path: service.path.clone().unwrap_or_default(),
        query: None,
    }
}

impl Base {
    fn parse(url: &str) -> Result<Self, &'static str> {
        let is_printable = url.bytes().all(|byte| byte.is_ascii_graphic());
        let rest =
            url.strip_prefix("https://").filter(|_| is_printable).ok_or("it must begin with https://")?;
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned()).filter(|query| !query.is_empty())),
            None => (rest, None),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.is_empty() {
            return Err("it has no host");
        }
        if authority.contains('@') {
            return Err("it must not have a user: a request has no credentials");
        }
        Ok(Self { authority: authority.to_owned(), path: path.to_owned(), query })
    }
}

/// Removes empty segments, `.` and `..`, as upstream does.
fn clean(path: &str) -> String {
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
