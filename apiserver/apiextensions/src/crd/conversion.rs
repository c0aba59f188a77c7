//! Validation of `spec.conversion`: the strategy and the address of its webhook.

use machinery::field::FieldError;
use machinery::names::dns1123_subdomain;
use serde_json::Value;

use super::errors::{forbidden, invalid, required, unsupported};
use super::read::{list, text};

/// Validates `spec.conversion`.
pub(super) fn validate(conversion: &Value) -> Vec<FieldError> {
    let path = "spec.conversion";
    let mut errors = Vec::new();
    if conversion.is_null() {
        return errors;
    }
    let strategy = text(conversion, "/strategy");
    match strategy {
        "" => errors.push(required(format!("{path}.strategy"), "")),
        "None" | "Webhook" => {}
        other => errors.push(unsupported(format!("{path}.strategy"), &other.into(), &["None", "Webhook"])),
    }
    let client = conversion.pointer("/webhook/clientConfig").filter(|client| client.is_object());
    let versions = list(conversion, "/webhook/conversionReviewVersions");
    let client_path = format!("{path}.webhookClientConfig");
    let versions_path = format!("{path}.conversionReviewVersions");
    if strategy != "Webhook" {
        let words = "should not be set when strategy is not set to Webhook";
        if client.is_some() {
            errors.push(forbidden(client_path, words));
        }
        if !versions.is_empty() {
            errors.push(forbidden(versions_path, words));
        }
        return errors;
    }
    match client {
        None => errors.push(required(client_path, "required when strategy is set to Webhook")),
        Some(client) => errors.extend(client_config(client, &client_path)),
    }
    for (i, version) in versions.iter().enumerate().filter_map(|(i, version)| Some((i, version.as_str()?))) {
        let at = format!("{versions_path}[{i}]");
        if versions[..i].iter().any(|other| other == version) {
            errors.push(invalid(at, &version.into(), "duplicate version"));
            continue;
        }
        let problems = machinery::names::dns1035_label(version);
        errors.extend(problems.into_iter().map(|why| invalid(at.clone(), &version.into(), why)));
    }
    if versions.is_empty() {
        errors.push(required(versions_path, ""));
    } else if !versions.iter().any(|version| matches!(version.as_str(), Some("v1" | "v1beta1"))) {
        let shown = Value::Array(versions.to_vec());
        errors.push(invalid(versions_path, &shown, "must include at least one of v1, v1beta1"));
    }
    errors
}

fn client_config(client: &Value, path: &str) -> Vec<FieldError> {
    let url = client.get("url").and_then(Value::as_str);
    let service = client.get("service").filter(|service| service.is_object());
    match (url, service) {
        (Some(url), None) => webhook_url(url, &format!("{path}.url")),
        (None, Some(service)) => webhook_service(service, &format!("{path}.service")),
        _ => vec![required(path, "exactly one of url or service is required")],
    }
}

/// Validates the URL of a webhook like `ValidateWebhookURL` of `k8s.io/apiserver`.
fn webhook_url(text: &str, path: &str) -> Vec<FieldError> {
    let form = "; desired format: https://host[/path]";
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    let url = match machinery::url::parse(text) {
        Ok(url) => url,
        Err(why) => {
            return vec![required(path, format!("url must be a valid URL: parse \"{text}\": {why}{form}"))];
        }
    };
    let mut errors = Vec::new();
    let mut refuse = |value: &str, why: String| errors.push(invalid(path, &value.into(), why));
    if url.scheme != "https" {
        refuse(&url.scheme, format!("'https' is the only allowed URL scheme{form}"));
    }
    if url.host.is_empty() {
        refuse(&url.host, format!("host must be specified{form}"));
    }
    let authority = text.split("//").nth(1).and_then(|rest| rest.split(['/', '?']).next());
    if let Some((user, _)) = authority.and_then(|authority| authority.rsplit_once('@')) {
        refuse(user, "user information is not permitted in the URL".to_owned());
    }
    if !fragment.is_empty() {
        refuse(fragment, "fragments are not permitted in the URL".to_owned());
    }
    if !url.query.is_empty() {
        refuse(&url.query, "query parameters are not permitted in the URL".to_owned());
    }
    errors
}

/// Validates the service of a webhook like `ValidateWebhookService` of `k8s.io/apiserver`.
fn webhook_service(service: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for key in ["name", "namespace"] {
        if text(service, &format!("/{key}")).is_empty() {
            errors.push(required(format!("{path}.{key}"), ""));
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
    if !(1..=65_535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(invalid(format!("{path}.port"), &port.into(), detail));
    }
    let url_path = text(service, "/path");
    let mut refuse = |why: String| errors.push(invalid(format!("{path}.path"), &url_path.into(), why));
    match url_path {
        "" | "/" => return errors,
        "//" => {
            refuse("segment[0] may not be empty".to_owned());
            return errors;
        }
        _ => {}
    }
    let rest = match url_path.strip_prefix('/') {
        Some(rest) => rest,
        None => {
            refuse("must start with a '/'".to_owned());
            // kube-apiserver skips the first character, whatever it is.
            let mut characters = url_path.chars();
            characters.next();
            characters.as_str()
        }
    };
    for (i, segment) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if segment.is_empty() {
            refuse(format!("segment[{i}] may not be empty"));
            continue;
        }
        for problem in dns1123_subdomain(segment) {
            refuse(format!("segment[{i}]: {problem}"));
        }
    }
    errors
}
