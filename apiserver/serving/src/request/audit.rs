//! The audit record of a request: its id, who asked, and how it was answered. Whatever follows requests (metrics, logs) reads it here.

use std::sync::OnceLock;
use std::time::Duration;

use access::User;
use access::attributes::Resource;
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use machinery::random::Random;
use net::request_id;
use tracing::Span;

use super::verb::Verb;
use crate::limits::AUDIT_ID_BYTES;

/// The header with the id of a request, in both directions (Kubernetes' `Audit-ID`).
pub(crate) const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// What is known of a request before it is answered.
pub(crate) struct AuditRecord {
    id: HeaderValue,
    user: OnceLock<User>,
    impersonated: OnceLock<User>,
}

/// How a request was answered.
pub(crate) struct Answered<'a> {
    pub(crate) record: &'a AuditRecord,
    pub(crate) verb: Verb,
    /// `None` for non-resource paths and for resources that are not served.
    pub(crate) resource: Option<Resource<'a>>,
    pub(crate) code: u16,
    pub(crate) elapsed: Duration,
}

impl AuditRecord {
    /// Creates the record of a request. Its id is the one that the client has chosen, as in kube-apiserver, unless it is longer than
    /// [`AUDIT_ID_BYTES`] or no text; otherwise a UUID.
    pub(crate) fn new(parts: &Parts, random: &Random) -> Self {
        let id = request_id(&parts.headers, &AUDIT_ID, AUDIT_ID_BYTES, random);
        Self { id, user: OnceLock::new(), impersonated: OnceLock::new() }
    }

    /// Returns the id as the value of a header.
    pub(crate) fn header(&self) -> HeaderValue {
        self.id.clone()
    }

    /// Returns the id.
    pub(crate) fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    /// Returns the span of the request, in which everything happens that it causes. It is for debugging, because the fields of a span
    /// cost a tenth of a GET.
    pub(crate) fn span(&self, verb: Verb, parts: &Parts, resource: Option<Resource<'_>>) -> Span {
        let (audit_id, verb, path) = (self.id(), verb.as_str(), parts.uri.path());
        let Some(resource) = resource else {
            return tracing::debug_span!("request", audit_id, method = %parts.method, path);
        };
        let Resource { group, resource, subresource, namespace, name, .. } = resource;
        tracing::debug_span!(
            "request",
            audit_id,
            verb,
            group,
            resource,
            subresource,
            namespace,
            object = name
        )
    }

    /// Records who asks.
    pub(crate) fn asked_by(&self, user: User) -> &User {
        self.user.get_or_init(|| user)
    }

    /// Records the user whom the user who asks impersonates.
    pub(crate) fn impersonates(&self, user: User) -> &User {
        self.impersonated.get_or_init(|| user)
    }

    /// Returns the name of the user who asks. It is empty before authentication, and if that fails.
    pub(crate) fn user(&self) -> &str {
        self.user.get().map_or("", |user| &user.name)
    }

    /// Returns the name of the impersonated user.
    pub(crate) fn impersonated(&self) -> Option<&str> {
        self.impersonated.get().map(|user| user.name.as_str())
    }
}
