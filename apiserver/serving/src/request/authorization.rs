//! Impersonation and authorization of a request.

use std::sync::Arc;

use access::attributes::Resource;
use access::authorize::{Decision, forbidden};
use access::{Attributes, Authorizer, User, impersonate};
use http::HeaderMap;
use machinery::status::Status;
use registry::permissions::Permissions;

use super::asked::Asked;
use super::audit::AuditRecord;
use super::permissions::Permitting;
use super::verb::Verb;

/// The action that a request asks permission for.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The verb; for non-resource paths the method in lower case.
    pub(crate) verb: &'a str,
    /// The path without percent escapes.
    pub(crate) path: &'a str,
    pub(crate) resource: Option<Resource<'a>>,
}

impl<'a> Request<'a> {
    fn of(self, user: &'a User) -> Attributes<'a> {
        Attributes { user, verb: self.verb, path: self.path, resource: self.resource }
    }
}

/// Decides what users may do.
pub(crate) struct Authorization {
    authorizer: Arc<dyn Authorizer>,
    /// What the expressions of policies ask.
    permissions: Permissions,
    /// The impersonation mode that each user used last.
    last_modes: impersonate::LastModes,
}

impl Authorization {
    pub(crate) fn new(authorizer: Arc<dyn Authorizer>) -> Self {
        let permissions = Permissions::new(Arc::new(Permitting(authorizer.clone())));
        Self { authorizer, permissions, last_modes: impersonate::LastModes::default() }
    }

    /// Returns what the expressions of policies ask.
    pub(crate) fn permissions(&self) -> Permissions {
        self.permissions.clone()
    }

    pub(crate) fn authorizer(&self) -> &dyn Authorizer {
        &*self.authorizer
    }

    /// Returns the user on whose behalf the request is served: `user`, or the one that `user` impersonates.
    ///
    /// # Errors
    /// 400 for malformed impersonation headers, 403 if the impersonation or the request itself is not
    /// allowed.
    pub(crate) fn authorize<'a>(
        &self,
        record: &'a AuditRecord,
        headers: &HeaderMap,
        user: &'a User,
        request: Request<'_>,
    ) -> Result<&'a User, Status> {
        let authorizer = &*self.authorizer;
        let other = impersonate::impersonate(&request.of(user), headers, authorizer, &self.last_modes)?;
        let user = other.map_or(user, |other| record.impersonates(other));
        match self.denial(user, request) {
            None => Ok(user),
            Some(status) => Err(status),
        }
    }

    /// Returns the refusal if the user may not create the object of the request; needed for writes that may
    /// create.
    pub(crate) fn create_refusal(&self, asked: &Asked<'_>) -> Option<Status> {
        let (path, resource) = (asked.parts.uri.path(), asked.target.resource());
        let request = Request { verb: Verb::Create.as_str(), path, resource: Some(resource) };
        self.denial(asked.user, request)
    }

    fn denial(&self, user: &User, request: Request<'_>) -> Option<Status> {
        let attributes = request.of(user);
        match self.authorizer.authorize(&attributes) {
            Decision::Allow => None,
            Decision::Deny(reason) => Some(forbidden(&attributes, &reason)),
        }
    }
}
