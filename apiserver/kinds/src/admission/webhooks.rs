//! Validation of webhook configurations.

use std::collections::BTreeSet;

use cel::program::Environment;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::names;
use serde_json::Value;

use super::expressions::{REQUEST, check_conditions};
use super::matching::{check_rule, check_selector};
use crate::fields::{invalid, list, required, text};
use crate::strategy::rules::{NONE, Rules};

/// ValidatingWebhookConfiguration and MutatingWebhookConfiguration.
pub(crate) const WEBHOOKS: Rules = Rules { validate: webhooks, ..NONE };

fn webhooks(configuration: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, webhook) in list(configuration, "webhooks").iter().enumerate() {
        let path = format!("webhooks[{index}]");
        check_webhook(webhook, &path, &mut errors);
        if !seen.insert(text(webhook, "name")) {
            let name = &webhook["name"];
            errors.push(FieldError::new(FieldErrorKind::Duplicate, format!("{path}.name"), name, ""));
        }
    }
    errors
}

fn check_webhook(webhook: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let name = text(webhook, "name");
    if !name.is_empty() {
        let problems = names::dns1123_subdomain(name);
        let few = problems.is_empty() && name.split('.').count() < 3;
        errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.name"), name, why)));
        if few {
            let why = "should be a domain with at least three segments separated by dots";
            errors.push(invalid(format!("{path}.name"), name, why));
        }
    }
    check_versions(webhook, path, errors);
    for (index, rule) in list(webhook, "rules").iter().enumerate() {
        check_rule(rule, &format!("{path}.rules[{index}]"), errors);
    }
    match text(webhook, "sideEffects") {
        "None" | "NoneOnDryRun" => {}
        "" => errors.push(required(format!("{path}.sideEffects"), "must specify one of None, NoneOnDryRun")),
        other => {
            let allowed = ["None".into(), "NoneOnDryRun".into()];
            let field = format!("{path}.sideEffects");
            // The structural check reports values that are not part of the enum; `Some` and `Unknown` are in the enum.
            if matches!(other, "Some" | "Unknown") {
                errors.push(FieldError::not_supported(field, &other.into(), &allowed));
            }
        }
    }
    if let Some(seconds) = webhook["timeoutSeconds"].as_i64().filter(|seconds| !(1..=30).contains(seconds)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.push(invalid(format!("{path}.timeoutSeconds"), seconds, why));
    }
    for selector in ["namespaceSelector", "objectSelector"] {
        check_selector(&webhook[selector], &format!("{path}.{selector}"), errors);
    }
    check_client(&webhook["clientConfig"], &format!("{path}.clientConfig"), errors);
    check_conditions(webhook, path, &Environment::new(&REQUEST), errors);
}

fn check_versions(webhook: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let path = format!("{path}.admissionReviewVersions");
    let versions = list(webhook, "admissionReviewVersions");
    if versions.is_empty() {
        errors.push(required(path, "must specify one of v1, v1beta1"));
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        let version = version.as_str().unwrap_or_default();
        let path = format!("{path}[{index}]");
        if !seen.insert(version) {
            errors.push(invalid(path, version, "duplicate version"));
        } else {
            let problems = names::dns1035_label(version);
            errors.extend(problems.into_iter().map(|why| invalid(path.clone(), version, why)));
        }
    }
    if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        let why = "must include at least one of v1, v1beta1";
        errors.push(invalid(path, webhook["admissionReviewVersions"].clone(), why));
    }
}

fn check_client(client: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let (url, service) = (text(client, "url"), &client["service"]);
    if url.is_empty() == service.is_null() {
        errors.push(required(path, "exactly one of url or service is required"));
        return;
    }
    if !url.is_empty() {
        let path = format!("{path}.url");
        let form = "; desired format: https://host[/path]";
        let Some(rest) = url.strip_prefix("https://") else {
            let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
            let why = format!("'https' is the only allowed URL scheme{form}");
            errors.push(invalid(path, scheme, why));
            return;
        };
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if host.is_empty() {
            errors.push(invalid(path, "", format!("host must be specified{form}")));
        } else if host.contains('@') {
            let why = "user information is not permitted in the URL";
            errors.push(invalid(path, host.split('@').next().unwrap_or_default(), why));
        } else if let Some((_, fragment)) = rest.split_once('#') {
            errors.push(invalid(path, fragment, "fragments are not permitted in the URL"));
        } else if let Some((_, query)) = rest.split_once('?') {
            errors.push(invalid(path, query, "query parameters are not permitted in the URL"));
        }
        return;
    }
    for field in ["name", "namespace"] {
        if text(service, field).is_empty() {
            errors.push(required(format!("{path}.service.{field}"), format!("service {field} is required")));
        }
    }
    if let Some(port) = service["port"].as_i64().filter(|port| !(1..=65535).contains(port)) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(invalid(format!("{path}.service.port"), port, why));
    }
    let place = text(service, "path");
    if !place.is_empty() && !place.starts_with('/') {
        errors.push(invalid(format!("{path}.service.path"), place, "must start with a '/'"));
    }
}
