//! Reviews of permissions: the SubjectAccessReview family and SelfSubjectRulesReview.

use ::access::attributes::Resource;
use ::access::{Attributes, Authorizer, User};
use machinery::status::Status;
use registry::Served;
use serde_json::{Value, json};

use super::messages::invalid;
use super::spec;

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// Answers whether the subject of `review` may perform the action it names; `asker` is the subject of self
/// reviews.
pub(crate) fn access_review(
    authorizer: &dyn Authorizer,
    kind: &str,
    asker: &User,
    mut review: Value,
) -> Result<Value, Status> {
    invalid(&spec::check(kind, &review))?;
    let asked = &review["spec"];
    let other;
    let user = if kind == "SelfSubjectAccessReview" {
        asker
    } else {
        other = subject(asked);
        &other
    };
    let wanted = &asked["resourceAttributes"];
    let resource = wanted.is_object().then(|| Resource {
        group: text(wanted, "group"),
        version: if text(wanted, "version").is_empty() { "*" } else { text(wanted, "version") },
        resource: text(wanted, "resource"),
        subresource: text(wanted, "subresource"),
        namespace: text(wanted, "namespace"),
        name: text(wanted, "name"),
    });
    let path = &asked["nonResourceAttributes"];
    let verb = if resource.is_some() { text(wanted, "verb") } else { text(path, "verb") };
    let (allowed, reason) =
        authorizer.explain(&Attributes { user, verb, path: text(path, "path"), resource });
    let mut status = json!({"allowed": allowed});
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    let ignored = spec::ignored_selectors(wanted);
    if !ignored.is_empty() {
        status["evaluationError"] = ignored.into();
    }
    review["status"] = status;
    Ok(review)
}

/// Returns the user that a review names.
fn subject(asked: &Value) -> User {
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = asked["extra"].as_object().into_iter().flatten();
    User {
        name: text(asked, "user").to_owned(),
        uid: text(asked, "uid").to_owned(),
        groups: list(&asked["groups"]),
        extra: extra.map(|(key, values)| (key.to_lowercase(), list(values))).collect(),
    }
}

/// Lists what the asker may do in the namespace of `review`.
pub(crate) fn rules_review(
    authorizer: &dyn Authorizer,
    served: &Served,
    asker: &User,
    review: &Value,
) -> Result<Value, Status> {
    let namespace = text(&review["spec"], "namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let found = authorizer.rules(asker, namespace);
    let (mut resources, mut paths) = (Vec::new(), Vec::new());
    for rule in &found.rules {
        if !rule.resources.is_empty() {
            let mut shown =
                json!({"verbs": rule.verbs, "apiGroups": rule.api_groups, "resources": rule.resources});
            if !rule.resource_names.is_empty() {
                shown["resourceNames"] = rule.resource_names.clone().into();
            }
            resources.push(shown);
        }
        if !rule.non_resource_urls.is_empty() {
            paths.push(json!({"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls}));
        }
    }
    let mut status =
        json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": found.incomplete});
    if !found.error.is_empty() {
        status["evaluationError"] = found.error.into();
    }
    Ok(json!({
        "kind": served.definition.kind, "apiVersion": served.api_version(), "metadata": {}, "spec": {},
        "status": status,
    }))
}
