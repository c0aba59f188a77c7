//! Validation of `spec.names`, of the group, and of the approval of protected groups.

use machinery::field::FieldError;
use machinery::names::{dns1035_label, dns1123_subdomain};
use serde_json::Value;

use super::errors::{invalid, required};
use super::read::{list, text};

/// Validates the names of a resource.
pub(super) fn validate(names: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut check = |field: String, value: &str, plain: bool| {
        let lower = value.to_lowercase();
        let problems = dns1035_label(if plain { value } else { &lower });
        // An empty list entry is an invalid name, while an empty field counts as absent.
        if (!value.is_empty() || field.ends_with(']')) && !problems.is_empty() {
            let prefix = if plain { "" } else { "may have mixed case, but should otherwise match: " };
            errors.push(invalid(field, &value.into(), format!("{prefix}{}", problems.join(","))));
        }
    };
    check(format!("{path}.plural"), text(names, "/plural"), true);
    check(format!("{path}.singular"), text(names, "/singular"), true);
    check(format!("{path}.kind"), text(names, "/kind"), false);
    check(format!("{path}.listKind"), text(names, "/listKind"), false);
    for (i, name) in list(names, "/shortNames").iter().enumerate() {
        check(format!("{path}.shortNames[{i}]"), name.as_str().unwrap_or_default(), true);
    }
    for (i, name) in list(names, "/categories").iter().enumerate() {
        check(format!("{path}.categories[{i}]"), name.as_str().unwrap_or_default(), true);
    }
    let (kind, list_kind) = (text(names, "/kind"), text(names, "/listKind"));
    if !kind.is_empty() && kind == list_kind {
        errors.push(invalid(
            format!("{path}.listKind"),
            &kind.into(),
            "kind and listKind may not be the same",
        ));
    }
    errors
}

/// Requires the names that `spec` must contain and `status` need not contain.
pub(super) fn missing(names: &Value, path: &str) -> Vec<FieldError> {
    ["plural", "singular", "kind", "listKind"]
        .into_iter()
        .filter(|name| text(names, &format!("/{name}")).is_empty())
        .map(|name| required(format!("{path}.{name}"), ""))
        .collect()
}

/// Validates `spec.group`.
pub(super) fn group(group: &str) -> Vec<FieldError> {
    if group.is_empty() {
        return vec![required("spec.group", "")];
    }
    let problems = dns1123_subdomain(group);
    if !problems.is_empty() {
        return vec![invalid("spec.group", &group.into(), problems.join(","))];
    }
    if !group.contains('.') {
        return vec![invalid("spec.group", &group.into(), "should be a domain with at least one dot")];
    }
    Vec::new()
}

const KEY: &str = "api-approved.kubernetes.io";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// What the annotation about the API review of a group of the Kubernetes project says.
pub(super) enum Approval {
    Missing,
    /// The author says that there is no review.
    Bypassed(String),
    /// A link to it.
    Approved(String),
    Invalid(String),
}

impl Approval {
    /// Returns the status of the condition, its reason and its message.
    pub(super) fn condition(&self) -> (&'static str, &'static str, String) {
        match self {
            Self::Missing => ("False", "MissingAnnotation", self.demand()),
            Self::Invalid(_) => ("False", "InvalidAnnotation", self.demand()),
            Self::Bypassed(reason) => ("False", "UnapprovedAnnotation", format!("not approved: {reason:?}")),
            Self::Approved(link) => ("True", "ApprovedAnnotation", format!("approved in {link}")),
        }
    }

    /// Returns what the annotation must be.
    fn demand(&self) -> String {
        let how = match self {
            Self::Missing => "",
            _ => " with either a URL or a reason starting with \"unapproved\"",
        };
        format!("protected groups must have approval annotation \"{KEY}\"{how}, {SEE}")
    }
}

/// Returns what a definition says of its API review; `None` for groups that need none.
pub(super) fn approval_of(object: &Value) -> Option<Approval> {
    let group = text(object, "/spec/group");
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')));
    if !protected {
        return None;
    }
    let annotation =
        object.pointer("/metadata/annotations").and_then(|map| map.get(KEY)).and_then(Value::as_str);
    Some(match annotation.unwrap_or_default() {
        "" => Approval::Missing,
        reason if reason.starts_with("unapproved") => Approval::Bypassed(reason.to_owned()),
        link => match machinery::url::parse_request_uri(link) {
            Ok(url) if !url.host.is_empty() && !url.scheme.is_empty() => Approval::Approved(link.to_owned()),
            _ => Approval::Invalid(link.to_owned()),
        },
    })
}

/// Requires that groups of the Kubernetes project have an annotation with a link to their API review.
pub(super) fn approval(object: &Value) -> Vec<FieldError> {
    let field = format!("metadata.annotations[{KEY}]");
    let Some(approval) = approval_of(object) else { return Vec::new() };
    let demand = approval.demand();
    match approval {
        Approval::Missing => vec![required(field, demand)],
        Approval::Invalid(link) => vec![invalid(field, &link.into(), demand)],
        Approval::Bypassed(_) | Approval::Approved(_) => Vec::new(),
    }
}
