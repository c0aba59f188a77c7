//! The naming rules of Kubernetes (`k8s.io/apimachinery/pkg/util/validation`), and generated names. Each check returns the
//! problems as messages of kube-apiserver, and an empty list for a valid name.

use serde_json::Value;

use crate::field::{FieldError, FieldErrorKind};
use crate::limits::MAX_ANNOTATIONS_SIZE;
use crate::random::Random;

/// Maximum length of a generated name without its random suffix.
const MAX_GENERATED_BASE: usize = 63 - 5;

fn pattern_message(message: &str, pattern: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{message} (regex used for validation is '{pattern}')");
    }
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    let examples = examples.join(" or ");
    // The comma before "regex" is that of kube-apiserver.
    format!("{message} (e.g. {examples}regex used for validation is '{pattern}')")
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

/// Returns whether the text has lower-case letters, digits and `-` only, and begins and ends alphanumerically.
fn label_shape(text: &str) -> bool {
    let ok = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => ok(*first) && ok(*last) && bytes.iter().all(|c| ok(*c) || *c == b'-'),
        _ => false,
    }
}

/// Checks an RFC 1123 label.
pub fn dns1123_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63));
    }
    if !label_shape(text) && text.contains('.') && text.split('.').all(label_shape) {
        errors.push("must not contain dots".into());
    } else if !label_shape(text) {
        let message = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
                       and must start and end with an alphanumeric character";
        errors.push(pattern_message(message, "[a-z0-9]([-a-z0-9]*[a-z0-9])?", &["my-name", "123-abc"]));
    }
    errors
}

/// Checks an RFC 1123 subdomain whose labels may begin with and contain underscores.
pub fn dns1123_subdomain_with_underscore(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(too_long(253));
    }
    let shape = |label: &str| {
        let ok = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
        let (first, last) = (label.bytes().next(), label.bytes().last());
        first.is_some_and(|c| ok(c) || c == b'_')
            && last.is_some_and(ok)
            && label.bytes().all(|c| ok(c) || c == b'-' || c == b'_')
    };
    if !text.split('.').all(shape) {
        let message = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', \
                       '-' or '.', and must start and end with an alphanumeric character";
        let pattern = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
        errors.push(pattern_message(message, pattern, &["example.com"]));
    }
    errors
}

/// Checks an RFC 1123 subdomain.
pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(too_long(253));
    }
    if !text.split('.').all(label_shape) {
        let message = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
                       '.', and must start and end with an alphanumeric character";
        let pattern = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
        errors.push(pattern_message(message, pattern, &["example.com"]));
    }
    errors
}

/// Checks an RFC 1035 label.
pub fn dns1035_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63));
    }
    if !label_shape(text) || !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        let message = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                       alphabetic character, and end with an alphanumeric character";
        errors.push(pattern_message(message, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]));
    }
    errors
}

/// Returns whether the text has the form of the name part of a qualified name, or of a non-empty label value.
fn name_shape(text: &str) -> bool {
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            first.is_ascii_alphanumeric()
                && last.is_ascii_alphanumeric()
                && bytes.iter().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(c))
        }
        _ => false,
    }
}

const QUALIFIED_MESSAGE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and \
                                 end with an alphanumeric character";
const QUALIFIED_PATTERN: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// Checks a qualified name `[prefix/]name`, such as a label key, an annotation key or a finalizer.
pub fn qualified_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                errors.extend(dns1123_subdomain(prefix).into_iter().map(|why| format!("prefix part {why}")));
            }
            name
        }
        _ => {
            let message = format!("a valid label key {QUALIFIED_MESSAGE}");
            let message = pattern_message(&message, QUALIFIED_PATTERN, &["MyName", "my.name", "123-abc"]);
            let more = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![message + more];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push("name part must be no more than 63 bytes".to_owned());
    }
    if !name_shape(name) {
        let message = format!("name part {QUALIFIED_MESSAGE}");
        errors.push(pattern_message(&message, QUALIFIED_PATTERN, &["MyName", "my.name", "123-abc"]));
    }
    errors
}

/// Checks the value of a label.
pub fn label_value(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push("must be no more than 63 bytes".to_owned());
    }
    if !text.is_empty() && !name_shape(text) {
        let message = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                       '.', and must start and end with an alphanumeric character";
        let pattern = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
        errors.push(pattern_message(message, pattern, &["MyValue", "my_value", "12345"]));
    }
    errors
}

fn invalid(field: &str, value: &str, detail: String) -> FieldError {
    FieldError::new(FieldErrorKind::Invalid, field, &value.into(), detail)
}

/// Validates `metadata.labels`. Values that are not strings count as empty.
pub fn validate_labels(labels: Option<&Value>, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
        errors.extend(qualified_name(key).into_iter().map(|why| invalid(field, key, why)));
        let value = value.as_str().unwrap_or_default();
        errors.extend(label_value(value).into_iter().map(|why| invalid(field, value, why)));
    }
    errors
}

/// Validates `metadata.annotations`: keys, and the size of all annotations together.
pub fn validate_annotations(annotations: Option<&Value>, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in annotations.and_then(Value::as_object).into_iter().flatten() {
        let lower = key.to_lowercase();
        errors.extend(qualified_name(&lower).into_iter().map(|why| invalid(field, key, why)));
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > MAX_ANNOTATIONS_SIZE {
        let detail = format!("may not be more than {MAX_ANNOTATIONS_SIZE} bytes");
        errors.push(FieldError::bare(FieldErrorKind::TooLong, field, detail));
    }
    errors
}

/// Returns the problems of a name that becomes a URL path segment, as for RBAC kinds. The list is empty for a valid
/// name.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    path_segment_prefix(text)
}

/// Returns the problems of the beginning of such a name.
pub fn path_segment_prefix(text: &str) -> Vec<String> {
    let forbidden = ['/', '%'].into_iter().filter(|character| text.contains(*character));
    let mut problems: Vec<String> =
        forbidden.map(|character| format!("may not contain '{character}'")).collect();
    // kube-apiserver takes these. No key of the store has one, so that they are refused here and not as a fault of the server.
    if text.chars().any(char::is_control) {
        problems.push("may not contain control characters".to_owned());
    }
    problems
}

/// Generates a name from `generateName`.
pub fn generate(base: &str, random: &Random) -> String {
    let mut end = base.len().min(MAX_GENERATED_BASE);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{}", &base[..end], random.name_suffix())
}
