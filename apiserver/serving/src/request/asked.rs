//! A request for a resource, with the inputs of its handler.

use access::User;
use http::request::Parts;
use registry::permissions::Permissions;
use registry::{Aside, Context};

use super::query::Query;
use super::target::resource::Target;

/// A request for a resource, with the inputs that every handler needs.
pub(crate) struct Asked<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) target: &'a Target<'a>,
    pub(crate) query: Query,
    pub(crate) user: &'a User,
    /// How work on many bytes is performed.
    pub(crate) aside: Aside,
    /// Decides what expressions of policies and webhooks ask.
    pub(crate) permissions: Permissions,
}

impl Asked<'_> {
    /// Returns the registry's context of the request. No other place makes one.
    pub(crate) fn context(&self) -> Context {
        let agent = self.parts.headers.get(http::header::USER_AGENT);
        Context {
            user: self.user.clone(),
            user_agent: agent.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned(),
            aside: self.aside.clone(),
            permissions: self.permissions.clone(),
            ..Context::default()
        }
    }
}
