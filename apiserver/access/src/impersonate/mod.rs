//! Impersonation: which users may act as another user, by the `Impersonate-*` headers.
//!
//! There are several modes (<https://kep.k8s.io/5284>). The constrained modes allow a verb on a resource as a
//! kind of user and need two permissions: `impersonate-on:MODE:VERB` for the request, `impersonate:MODE` for
//! each part of the identity. The legacy mode needs the verb `impersonate` for each part, and then allows
//! every request.

mod headers;

pub use headers::requested;

use std::collections::BTreeMap;

use http::HeaderMap;
use machinery::cache::Cache;
use machinery::field::quote;
use machinery::names::dns1123_subdomain;
use machinery::status::Status;

use crate::attributes::{Attributes, Resource};
use crate::authorize::{Authorizer, Decision, forbidden};
use kinds::user::{
    ANONYMOUS, GROUP_AUTHENTICATED, GROUP_MASTERS, GROUP_NODES, GROUP_UNAUTHENTICATED, NODE_PREFIX, User,
    service_account, service_account_groups,
};

/// Key of the extra field with the Node that a service account's token was issued for.
pub(crate) const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const AUTHENTICATION: &str = "authentication.k8s.io";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    /// The original mode with the verb `impersonate`.
    Legacy,
}

const MODES: [Mode; 5] =
    [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    fn is_for(self, asked: &User, asker: &User) -> bool {
        let only_name = asked.uid.is_empty() && asked.groups.is_empty() && asked.extra.is_empty();
        let (node, account) = (node(&asked.name), service_account(&asked.name));
        match self {
            Self::AssociatedNode => {
                let own = asker.extra.get(NODE_NAME).map(Vec::as_slice);
                only_name
                    && service_account(&asker.name).is_some()
                    && node.is_some_and(|node| own.is_some_and(|own| own == [node]))
            }
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }
}

/// The number of users whose last mode is remembered.
const MAX_REMEMBERED: usize = 10_000;

/// The mode by which each user was last allowed to impersonate. It is tried first, so that a refusal names
/// the permission missing in the mode that the user normally uses.
#[derive(Debug)]
pub struct LastModes(Cache<String, Mode>);

impl Default for LastModes {
    fn default() -> Self {
        Self(Cache::new(MAX_REMEMBERED))
    }
}

impl LastModes {
    fn get(&self, asker: &str) -> Option<Mode> {
        self.0.get(asker)
    }

    fn set(&self, asker: &str, mode: Mode) {
        if self.get(asker) != Some(mode) {
            self.0.keep(asker.to_owned(), mode);
        }
    }
}

/// Returns the impersonated user; `None` if the request has no impersonation headers. `attributes` are those
/// of the request.
///
/// # Errors
/// 400 if the headers are malformed, or name groups, a UID or extra fields without a user. 403 if the user
/// may not impersonate; the error names the permission missing in the first applicable mode, where the mode
/// that was last allowed comes first.
pub fn impersonate(
    attributes: &Attributes<'_>,
    headers: &HeaderMap,
    authorizer: &dyn Authorizer,
    last: &LastModes,
) -> Result<Option<User>, Status> {
    let Some(asked) = headers::requested(headers)? else { return Ok(None) };
    if asked.name.is_empty() {
        let asked = describe(&asked);
        return Err(Status::bad_request(format!("requested {asked} without impersonating a user name")));
    }
    let mut refusal = None;
    let asker = attributes.user;
    let first = last.get(&asker.name);
    let others = MODES.into_iter().filter(|mode| Some(*mode) != first);
    for mode in first.into_iter().chain(others).filter(|mode| mode.is_for(&asked, asker)) {
        match (Check { mode, asker, authorizer }).check(attributes, &asked) {
            Ok(()) => {
                last.set(&asker.name, mode);
                return Ok(Some(complete(asked, mode)));
            }
            Err(status) => drop(refusal.get_or_insert(status)),
        }
    }
    Err(refusal.unwrap_or_else(|| forbidden(attributes, "")))
}

/// Checks the permissions that one mode needs.
struct Check<'a> {
    mode: Mode,
    asker: &'a User,
    authorizer: &'a dyn Authorizer,
}

impl Check<'_> {
    fn check(&self, request: &Attributes<'_>, asked: &User) -> Result<(), Status> {
        if self.mode != Mode::Legacy {
            let verb = format!("impersonate-on:{}:{}", self.mode.name(), request.verb);
            self.may(&Attributes { verb: &verb, ..*request })?;
        }
        self.name(&asked.name)?;
        if !asked.uid.is_empty() {
            self.part(self.resource(AUTHENTICATION, "uids", &asked.uid))?;
        }
        self.groups(&asked.groups)?;
        self.extra(&asked.extra)
    }

    fn may(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        match self.authorizer.authorize(attributes) {
            Decision::Allow => Ok(()),
            Decision::Deny(reason) => Err(forbidden(attributes, &reason)),
        }
    }

    /// Checks the permission for one part of the identity.
    fn part(&self, resource: Resource<'_>) -> Result<(), Status> {
        let verb = self.verb();
        self.may(&Attributes { user: self.asker, verb: &verb, path: "", resource: Some(resource) })
    }

    /// Refuses a part independent of the permissions.
    fn refuse(&self, resource: Resource<'_>, why: &str) -> Status {
        let verb = self.verb();
        forbidden(&Attributes { user: self.asker, verb: &verb, path: "", resource: Some(resource) }, why)
    }

    fn verb(&self) -> String {
        match self.mode {
            Mode::Legacy => "impersonate".to_owned(),
            mode => format!("impersonate:{}", mode.name()),
        }
    }

    fn resource<'r>(&self, group: &'r str, resource: &'r str, name: &'r str) -> Resource<'r> {
        Resource { group, version: "v1", resource, name, ..Resource::default() }
    }

    /// Returns the API group of users and groups: the core group in the legacy mode.
    fn group(&self) -> &'static str {
        if self.mode == Mode::Legacy { "" } else { AUTHENTICATION }
    }

    fn name(&self, name: &str) -> Result<(), Status> {
        if let Some((namespace, name)) = service_account(name) {
            let resource = self.resource(self.group(), "serviceaccounts", name);
            return self.part(Resource { namespace, ..resource });
        }
        match node(name) {
            // A user with this permission may impersonate any Node that they run on, so no name is checked.
            Some(_) if self.mode == Mode::AssociatedNode => {
                self.part(self.resource(self.group(), "nodes", "*"))
            }
            Some(node) if self.mode != Mode::Legacy => self.part(self.resource(self.group(), "nodes", node)),
            _ => self.part(self.resource(self.group(), "users", name)),
        }
    }

    fn groups(&self, groups: &[String]) -> Result<(), Status> {
        if self.mode != Mode::Legacy {
            if groups.iter().any(String::is_empty) {
                let resource = self.resource(self.group(), "groups", "");
                return Err(self.refuse(resource, "impersonating the empty string group is not allowed"));
            }
            if groups.iter().any(|group| group == GROUP_MASTERS) {
                let resource = self.resource(self.group(), "groups", GROUP_MASTERS);
                return Err(self.refuse(resource, "impersonating the system:masters group is not allowed"));
            }
        }
        groups.iter().try_for_each(|group| self.part(self.resource(self.group(), "groups", group)))
    }

    fn extra(&self, extra: &BTreeMap<String, Vec<String>>) -> Result<(), Status> {
        let resource = self.resource(AUTHENTICATION, "userextras", "");
        if self.mode != Mode::Legacy
            && let Some(why) = bad_extra(extra)
        {
            return Err(self.refuse(resource, &why));
        }
        for (key, values) in extra {
            for value in values {
                self.part(Resource { subresource: key, name: value, ..resource })?;
            }
        }
        Ok(())
    }
}

/// Returns why extra fields cannot be impersonated in a constrained mode; `None` if they can.
fn bad_extra(extra: &BTreeMap<String, Vec<String>>) -> Option<String> {
    extra.iter().find_map(|(key, values)| {
        if key.is_empty() {
            return Some("impersonating the empty string key in extra is not allowed".to_owned());
        }
        let (domain, path) = key.split_once('/').unwrap_or_default();
        if domain.is_empty() || path.is_empty() || !dns1123_subdomain(domain).is_empty() {
            let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            let found = quote(key);
            return Some(format!(
                "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: {found}: {why}"
            ));
        }
        let empty = values.iter().any(String::is_empty);
        empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
    })
}

/// Returns the name of the Node behind a Node's user.
fn node(user: &str) -> Option<&str> {
    user.strip_prefix(NODE_PREFIX).filter(|name| dns1123_subdomain(name).is_empty())
}

/// Adds the groups that every user of this kind is in.
fn complete(mut user: User, mode: Mode) -> User {
    if let Some((namespace, _)) = service_account(&user.name)
        && user.groups.is_empty()
    {
        user.groups = service_account_groups(namespace);
    }
    if matches!(mode, Mode::AssociatedNode | Mode::ArbitraryNode) {
        user.groups = vec![GROUP_NODES.to_owned()];
    }
    if user.name == ANONYMOUS {
        if !user.is_in(GROUP_UNAUTHENTICATED) {
            user.groups.push(GROUP_UNAUTHENTICATED.into());
        }
    } else if !user.is_in(GROUP_AUTHENTICATED) && !user.is_in(GROUP_UNAUTHENTICATED) {
        user.groups.push(GROUP_AUTHENTICATED.into());
    }
    user
}

/// Describes the identity in the words of kube-apiserver's error.
fn describe(user: &User) -> String {
    let list = |items: &[String]| items.iter().map(|item| quote(item)).collect::<Vec<_>>().join(", ");
    let groups = match user.groups.as_slice() {
        [] => "[]string(nil)".to_owned(),
        groups => format!("[]string{{{}}}", list(groups)),
    };
    let extra = if user.extra.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        let entries =
            user.extra.iter().map(|(key, values)| format!("{}:[]string{{{}}}", quote(key), list(values)));
        format!("map[string][]string{{{}}}", entries.collect::<Vec<_>>().join(", "))
    };
    let (name, uid) = (quote(&user.name), quote(&user.uid));
    format!("&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:{extra}}}")
}
