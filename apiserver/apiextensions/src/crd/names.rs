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

/// Requires that groups of the Kubernetes project have an annotation with a link to their API review.
pub(super) fn approval(object: &Value) -> Vec<FieldError> {
    const KEY: &str = "api-approved.kubernetes.io";
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let group = text(object, "/spec/group");
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')));
    if !protected {
        return Vec::new();
    }
    let field = format!("metadata.annotations[{KEY}]");
    let annotation =
        object.pointer("/metadata/annotations").and_then(|map| map.get(KEY)).and_then(Value::as_str);
    match annotation.unwrap_or_default() {
        "" => {
            let detail = format!("protected groups must have approval annotation \"{KEY}\", {SEE}");
            vec![required(field, detail)]
        }
        reason if reason.starts_with("unapproved") => Vec::new(),
        link => match machinery::url::parse_request_uri(link) {
            Ok(url) if !url.host.is_empty() && !url.scheme.is_empty() => Vec::new(),
            _ => {
                let detail = format!(
                    "protected groups must have approval annotation \"{KEY}\" with either a URL or a reason \
                     starting with \"unapproved\", {SEE}"
                );
                vec![invalid(field, &link.into(), detail)]
            }
        },
    }
}
