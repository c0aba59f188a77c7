//! Probes and hooks over HTTP and HTTPS: the request of Kubernetes' kubelet (pkg/probe/http).

use anyhow::{Context, Result, ensure};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use k8s_openapi::api::core::v1::{HTTPGetAction, HTTPHeader};
use net::BoxStream;

use super::target::Target;
use super::tls;
use crate::limits;

/// What a kubelet calls itself.
pub(super) const AGENT: &str = "kube-probe/1.36";

/// Asks for a path.
///
/// # Errors
/// Nothing answers, or with another code than 200 to 399.
pub(crate) async fn get(action: &HTTPGetAction, target: &Target) -> Result<()> {
    let mut path = action.path.clone().unwrap_or_default();
    if !path.starts_with('/') {
        path.insert(0, '/');
    }
    let is_secured = action.scheme.as_deref().is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"));
    for _ in 0..=limits::REDIRECTS {
        let (stream, host, port) = target.dial(action.host.as_deref(), &action.port).await?;
        let authority =
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let stream = if is_secured { tls::secured(stream, &host).await? } else { stream };
        let headers = headers(action.http_headers.as_deref().unwrap_or_default(), &authority)?;
        let (code, location) = ask(stream, &path, headers).await?;
        ensure!((200..400).contains(&code), "HTTP probe failed with statuscode: {code}");
        match location.filter(|_| [301, 302, 303, 307, 308].contains(&code)).map(|to| local(&to, &host)) {
            Some(Some(next)) => path = next,
            // A redirect to another host is not followed, and counts as a success.
            _ => return Ok(()),
        }
    }
    anyhow::bail!("HTTP probe failed: stopped after {} redirects", limits::REDIRECTS)
}

async fn ask(stream: BoxStream, path: &str, headers: HeaderMap) -> Result<(u16, Option<String>)> {
    let mut sender = net::http1(stream).await?;
    let mut request = hyper::Request::get(path).body(Empty::<Bytes>::new())?;
    *request.headers_mut() = headers;
    let answer = sender.send_request(request).await.context("no answer")?;
    let location = answer.headers().get(LOCATION).and_then(|to| Some(to.to_str().ok()?.to_owned()));
    Ok((answer.status().as_u16(), location))
}

/// Returns the headers of a request. Those of the probe replace the usual ones; an empty one removes it.
pub fn headers(own: &[HTTPHeader], authority: &str) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for header in own {
        let name = HeaderName::from_bytes(header.name.as_bytes());
        let name = name.with_context(|| format!("{:?} is no name of a header", header.name))?;
        let value = HeaderValue::from_str(&header.value);
        let value = value.with_context(|| format!("the value of the header {name} is invalid"))?;
        headers.append(name, value);
    }
    let authority = HeaderValue::from_str(authority).context("the host is invalid")?;
    let usual = [
        (HOST, authority),
        (USER_AGENT, HeaderValue::from_static(AGENT)),
        (ACCEPT, HeaderValue::from_static("*/*")),
    ];
    for (name, value) in usual {
        match headers.get(&name) {
            None => drop(headers.insert(name, value)),
            Some(own) if own.is_empty() && name == HOST => drop(headers.insert(name, value)),
            Some(own) if own.is_empty() => drop(headers.remove(name)),
            Some(_) => {}
        }
    }
    Ok(headers)
}

/// Returns the path of a redirect to the same host; `None` for another host.
pub fn local(location: &str, host: &str) -> Option<String> {
    if location.starts_with('/') && !location.starts_with("//") {
        return Some(location.to_owned());
    }
    let uri: hyper::Uri = location.parse().ok()?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let named = uri.host()?.trim_matches(['[', ']']);
    (named == host).then(|| path.to_owned())
}
