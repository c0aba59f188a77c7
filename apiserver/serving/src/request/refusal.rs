//! Refuses verbs and formats that a path does not support.

use machinery::status::Status;
use registry::Served;

use super::asked::Asked;
use super::verb::Verb;
use crate::resources::patches::PatchKind;
use crate::response::negotiate::{meets, no_representation};
use crate::response::reply::Reply;

/// Returns `None` if the request can be served. Built-in and custom resources refuse differently, as in
/// kube-apiserver.
pub(crate) fn refusal(asked: &Asked<'_>, served: &Served) -> Option<Result<Reply, Status>> {
    if served.definition.built_in { built_in(asked, served) } else { custom(asked, served) }
}

fn built_in(asked: &Asked<'_>, served: &Served) -> Option<Result<Reply, Status>> {
    let target = asked.target;
    let definition = &served.definition;
    let across = definition.namespaced && target.namespace().is_empty();
    let get = asked.parts.method == http::Method::GET;
    let head = asked.parts.method == http::Method::HEAD;
    let allowed = match (target.verb(), target.subresource()) {
        _ if head => false,
        (Verb::Watch, _) if !get => false,
        (verb, "") if across => matches!(verb, Verb::List | Verb::Watch),
        (Verb::Create, "") if !target.name().is_empty() => false,
        (Verb::Watch, "") => definition.verbs.contains(&"watch"),
        (verb, "") if target.name().is_empty() => {
            matches!(verb, Verb::List | Verb::Create | Verb::DeleteCollection)
                && definition.verbs.contains(&verb.as_str())
        }
        (verb, "") => definition.verbs.contains(&verb.as_str()),
        (verb, "finalize") => verb == Verb::Update,
        (verb, _) => matches!(verb, Verb::Get | Verb::Update | Verb::Patch),
    };
    if !allowed {
        let message = "the server does not allow this method on the requested resource";
        return Some(Err(Status::method_not_allowed(message)));
    }
    if target.verb() == Verb::Patch && !is_patch(asked) {
        let mut status = Status::unsupported_media_type("");
        status.message = "415: Unsupported Media Type".to_owned();
        status.details = Some(serde_json::json!({}));
        return Some(Err(status));
    }
    if !meets(&asked.parts.headers, &["json", "yaml", "vnd.kubernetes.protobuf"]) {
        let streams = if target.name().is_empty() && get && definition.is_stored() {
            ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
        } else {
            ""
        };
        return Some(Err(no_representation(&format!("{}{streams}", crate::response::negotiate::ACCEPTED))));
    }
    None
}

/// Returns whether the content type is that of any patch; whether the kind supports it is checked later.
fn is_patch(asked: &Asked<'_>) -> bool {
    let known = ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"];
    let content_type = crate::request::input::content_type(&asked.parts.headers);
    content_type == "*/*"
        || content_type
            .strip_prefix("application/")
            .is_some_and(|subtype| known.contains(&subtype) || subtype == "octet-stream")
}

fn custom(asked: &Asked<'_>, served: &Served) -> Option<Result<Reply, Status>> {
    let target = asked.target;
    let verb = target.verb();
    let allowed = match target.subresource() {
        "" => verb != Verb::Other,
        _ => matches!(verb, Verb::Get | Verb::Update | Verb::Patch),
    };
    if !allowed {
        return Some(Err(Status::not_supported(served.resource(), verb.as_str())));
    }
    if target.name().is_empty() && matches!(verb, Verb::Update | Verb::Patch) {
        let unread = match verb {
            Verb::Patch => PatchKind::of(asked, served).err(),
            _ => None,
        };
        return Some(Err(unread.unwrap_or_else(|| Status::bad_request("name must be provided"))));
    }
    None
}
