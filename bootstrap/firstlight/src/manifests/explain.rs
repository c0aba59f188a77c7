//! Explains the server's refusal of a document: the line of the field, and what to do. Pure.

use serde_json::Value;

use super::apply::Target;
use super::field_path;
use super::read::Document;

/// Returns the line of the field that the server's message is about, and the message with a hint.
pub(super) fn explain(document: &Document, target: &Target, error: &kube::Error) -> (usize, String) {
    let kube::Error::Api(status) = error else { return (document.line, format!("{}: {error}", target.what)) };
    let message = &status.message;
    if status.code == 404 && message.starts_with("namespaces ") {
        let namespace = document.object["metadata"]["namespace"].as_str().unwrap_or("default");
        let advice = format!(
            "{}: the namespace {namespace:?} does not exist; add a Namespace to the manifests, or create it with `kubectl create namespace {namespace}`",
            target.what
        );
        return (document.line_of("metadata.namespace").unwrap_or(document.line), advice);
    }
    if let Some((field, what)) = typed_error(message) {
        return (
            document.line_of(field).unwrap_or(document.line),
            format!("{}: {field}: {}", target.what, in_words_of_yaml(&document.object, field, what)),
        );
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let field = causes
        .map(|cause| cause.field.clone())
        .find(|field| !field.is_empty())
        .or_else(|| quoted_field(message));
    let line = field.and_then(|field| document.line_of(&field)).unwrap_or(document.line);
    (line, format!("{}: {message}", target.what))
}

/// Returns the path and the problem in a message of server-side apply about an unknown field or a wrong type.
fn typed_error(message: &str) -> Option<(&str, &str)> {
    let faults = message.strip_prefix("failed to create typed patch object (")?.split_once("): ")?.1;
    faults.strip_prefix('.')?.lines().next()?.split_once(": ")
}

/// Returns a message about a wrong type, like `expected boolean, got &{yes}`, with the names of YAML instead of those of Go.
pub fn in_words_of_yaml(object: &Value, field: &str, message: &str) -> String {
    let (Some((expected, _)), Some(found)) = (message.split_once(", got "), field_path::find(object, field))
    else {
        return message.to_owned();
    };
    let expected = match expected {
        "expected numeric (int or float)" => "a number",
        "expected string" => "a string",
        "expected boolean" => "true or false",
        "expected list" => "a list",
        "expected map" => "a map",
        "expected any scalar" => "a string, a number, true or false",
        _ => return message.to_owned(),
    };
    let found = match found {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    };
    format!("expected {expected}, got {found}")
}

/// Returns the path in messages like `unknown field "spec.replcas"`.
fn quoted_field(message: &str) -> Option<String> {
    let start = message.find("field \"")? + "field \"".len();
    let end = message[start..].find('"')? + start;
    Some(message[start..end].to_owned())
}
