//! Requests to one host, over TLS by rustls.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, Uri, header};
use http_body_util::Empty;
use hyper::body::Incoming;
use net::{Proxies, authorities};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::limits;

/// A client that trusts the authorities of this machine, and further ones.
#[derive(Clone)]
pub(crate) struct Http(net::Client<Empty<Bytes>>);

impl Http {
    /// Returns a client that also trusts the certificates in these files.
    ///
    /// # Errors
    /// A file cannot be read, or has no certificates.
    pub(crate) fn new(authorities: &[PathBuf], proxies: Arc<Proxies>) -> Result<Self> {
        let (mut roots, why) = authorities::machine();
        for path in authorities {
            let cannot = || format!("cannot use the certificates in {}", path.display());
            let text = std::fs::read(path).with_context(cannot)?;
            for certificate in CertificateDer::pem_slice_iter(&text) {
                roots.add(certificate.with_context(cannot)?).with_context(cannot)?;
            }
        }
        Ok(Self(net::Client::new((roots, why), proxies)?))
    }

    /// Sends a GET request, and follows redirects. The authorization is sent to the first host only.
    ///
    /// # Errors
    /// The network fails, or the answer's head does not come in time.
    pub(crate) async fn get(
        &self,
        url: &str,
        headers: &HeaderMap,
        authorization: Option<&HeaderValue>,
    ) -> Result<Response<Incoming>> {
        let mut uri: Uri = url.parse().with_context(|| format!("{url:?} is no address"))?;
        let first = uri.authority().cloned();
        for _ in 0..=limits::REDIRECTS {
            let mut request = Request::get(&uri).body(Empty::new())?;
            *request.headers_mut() = headers.clone();
            request.headers_mut().insert(header::USER_AGENT, HeaderValue::from_static("firstlight"));
            if let Some(authorization) = authorization.filter(|_| uri.authority() == first.as_ref()) {
                request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
            }
            let answer = tokio::time::timeout(limits::SILENCE, self.0.request(request)).await;
            let answer = answer.with_context(|| format!("{uri} does not answer"))?;
            let answer = answer.with_context(|| uri.to_string())?;
            let target = answer.headers().get(header::LOCATION).filter(|_| answer.status().is_redirection());
            let Some(target) = target.and_then(|target| target.to_str().ok()) else { return Ok(answer) };
            uri = redirected(&uri, target)?;
        }
        bail!("{url} is redirected more than {} times", limits::REDIRECTS)
    }
}

/// Whether a request failed in a way that would be the same a little later.
pub(crate) fn is_lasting(error: &anyhow::Error) -> bool {
    net::refusal(error.as_ref()).is_some_and(net::Error::is_lasting)
}

/// Returns the address that the header `Location` of an answer from `base` names.
///
/// # Errors
/// It is no address, or leads from https to http.
pub fn redirected(base: &Uri, target: &str) -> Result<Uri> {
    let uri: Uri = target.parse().with_context(|| format!("redirected to {target:?}"))?;
    if uri.scheme().is_some() {
        let is_weaker = base.scheme_str() == Some("https") && uri.scheme_str() != Some("https");
        ensure!(!is_weaker, "redirected from https to {target:?}");
        return Ok(uri);
    }
    let mut parts = uri.into_parts();
    parts.scheme = base.scheme().cloned();
    parts.authority = base.authority().cloned();
    Uri::from_parts(parts).with_context(|| format!("redirected to {target:?}"))
}
