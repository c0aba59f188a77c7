//! Impersonation: who may act as somebody else, by the `Impersonate-*` headers.

use std::collections::BTreeMap;

use http::HeaderMap;
use machinery::status::Status;

use crate::attributes::{Attributes, Resource};
use crate::authorize::{Authorizer, Decision, forbidden};
use crate::user::{ANONYMOUS, GROUP_AUTHENTICATED, GROUP_UNAUTHENTICATED, SERVICE_ACCOUNT_PREFIX, User};

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// The user that the request acts as, `None` when it has no impersonation headers. `attributes` are the request's.
///
/// # Errors
/// 400 when the headers name groups, a uid or extra but no user; 403 when the user may not impersonate.
pub fn impersonate(
    attributes: &Attributes<'_>,
    headers: &HeaderMap,
    authorizer: &dyn Authorizer,
) -> Result<Option<User>, Status> {
    let asked = requested(headers);
    if asked == User::default() {
        return Ok(None);
    }
    if asked.name.is_empty() {
        let asked = describe(&asked);
        return Err(Status::bad_request(format!("requested {asked} without impersonating a user name")));
    }
    if !allowed(attributes.user, &asked, authorizer) {
        let mode = if service_account(&asked.name).is_some() { "serviceaccount" } else { "user-info" };
        let verb = format!("impersonate-on:{mode}:{}", attributes.verb);
        return Err(forbidden(&Attributes { verb: &verb, ..*attributes }, ""));
    }
    Ok(Some(complete(asked)))
}

/// What the headers name, as they name it.
fn requested(headers: &HeaderMap) -> User {
    let text =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let groups = headers.get_all(GROUP).iter().filter_map(|value| value.to_str().ok()).map(str::to_owned);
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        let Some(key) = name.as_str().strip_prefix(EXTRA_PREFIX) else { continue };
        let Ok(value) = value.to_str() else { continue };
        extra.entry(unescape(key)).or_default().push(value.to_owned());
    }
    User { name: text(USER), uid: text(UID), groups: groups.collect(), extra }
}

/// Percent escapes in a header name; what is no valid escape stays as it is.
fn unescape(key: &str) -> String {
    let bytes = key.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = key.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        if let Some(byte) = escape.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            plain.push(byte);
            at += 3;
        } else {
            plain.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(plain).map_or_else(|_| key.to_owned(), |plain| plain.to_lowercase())
}

/// Each part of the identity needs the verb `impersonate`.
fn allowed(user: &User, asked: &User, authorizer: &dyn Authorizer) -> bool {
    let may = |resource: Resource<'_>| {
        let attributes = Attributes { user, verb: "impersonate", path: "", resource: Some(resource) };
        authorizer.authorize(&attributes) == Decision::Allow
    };
    let who = match service_account(&asked.name) {
        Some((namespace, name)) => may(Resource { namespace, ..core("serviceaccounts", name) }),
        None => may(core("users", &asked.name)),
    };
    who && asked.groups.iter().all(|group| may(core("groups", group)))
        && (asked.uid.is_empty() || may(authentication("uids", &asked.uid)))
        && asked.extra.iter().all(|(key, values)| {
            values
                .iter()
                .all(|value| may(Resource { subresource: key, ..authentication("userextras", value) }))
        })
}

fn core<'a>(resource: &'a str, name: &'a str) -> Resource<'a> {
    Resource { version: "v1", resource, name, ..Resource::default() }
}

fn authentication<'a>(resource: &'a str, name: &'a str) -> Resource<'a> {
    Resource { group: "authentication.k8s.io", ..core(resource, name) }
}

/// Adds the groups that everybody of that name is in.
fn complete(mut user: User) -> User {
    if let Some((namespace, _)) = service_account(&user.name)
        && user.groups.is_empty()
    {
        user.groups.push("system:serviceaccounts".into());
        user.groups.push(format!("system:serviceaccounts:{namespace}"));
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

/// Namespace and name of a service account's user.
fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

/// The identity in the words that the API server's error has always used.
fn describe(user: &User) -> String {
    let list = |items: &[String]| items.iter().map(|item| format!("{item:?}")).collect::<Vec<_>>().join(", ");
    let groups = match user.groups.as_slice() {
        [] => "[]string(nil)".to_owned(),
        groups => format!("[]string{{{}}}", list(groups)),
    };
    let extra = if user.extra.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        let entries = user.extra.iter().map(|(key, values)| format!("{key:?}:[]string{{{}}}", list(values)));
        format!("map[string][]string{{{}}}", entries.collect::<Vec<_>>().join(", "))
    };
    format!("&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{groups}, Extra:{extra}}}", user.name, user.uid)
}
