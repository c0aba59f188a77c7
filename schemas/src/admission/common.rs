//! Admission rules that several kinds share.

use std::fmt::Display;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::limits::MAX_FIELD_ERRORS;
use machinery::names;
use machinery::selector;
use serde_json::Value;

use crate::cluster::MachineDeploymentRollingUpdate;
use crate::meta::ObjectMetaTemplate;

/// Collects validation errors, and warnings for the client.
#[derive(Debug, Default)]
pub struct Errors {
    found: Vec<FieldError>,
    warnings: Vec<String>,
}

impl Errors {
    /// Returns the number of errors.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Returns the warnings if there are no errors.
    ///
    /// # Errors
    /// All errors.
    pub fn into_result(self) -> Result<Vec<String>, Vec<FieldError>> {
        if self.found.is_empty() { Ok(self.warnings) } else { Err(self.found) }
    }

    /// Adds an error, unless there are so many already that nobody reads more.
    pub fn add(&mut self, error: FieldError) {
        if self.found.len() < MAX_FIELD_ERRORS {
            self.found.push(error);
        }
    }

    /// Adds an error: something that the rule must know could not be found out.
    pub fn internal(&mut self, field: impl Display, detail: impl Into<String>) {
        self.add(FieldError::bare(FieldErrorKind::InternalError, field.to_string(), detail));
    }

    /// Adds a warning, which the client shows if the object is accepted.
    pub fn warn(&mut self, warning: impl Display) {
        self.warnings.push(warning.to_string());
    }

    /// Adds an error: a required value is missing.
    pub fn required(&mut self, field: impl Display, detail: impl Into<String>) {
        self.add(FieldError::bare(FieldErrorKind::Required, field.to_string(), detail));
    }

    /// Adds an error: a value is not allowed here.
    pub fn forbidden(&mut self, field: impl Display, detail: impl Into<String>) {
        self.add(FieldError::bare(FieldErrorKind::Forbidden, field.to_string(), detail));
    }

    /// Adds an error: a value is invalid.
    pub fn invalid(&mut self, field: impl Display, value: impl Into<Value>, detail: impl Into<String>) {
        self.add(FieldError::new(FieldErrorKind::Invalid, field.to_string(), &value.into(), detail));
    }

    /// Adds an error: a value is invalid and too long to be shown.
    pub fn malformed(&mut self, field: impl Display, detail: impl Into<String>) {
        self.add(FieldError::bare(FieldErrorKind::Invalid, field.to_string(), detail));
    }

    /// Adds an error: a value is not one of `allowed`.
    pub fn not_supported(&mut self, field: impl Display, value: impl Into<Value>, allowed: &[&str]) {
        let allowed: Vec<String> = allowed.iter().map(|allowed| format!("{allowed:?}")).collect();
        self.add(FieldError::new(
            FieldErrorKind::NotSupported,
            field.to_string(),
            &value.into(),
            format!("supported values: {}", allowed.join(", ")),
        ));
    }
}

/// Returns the value of an annotation, or `None`.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"].get(key)?.as_str()
}

/// Checks that a field has not changed since the object was created.
pub fn immutable(old: Option<&Value>, new: &Value, path: &[&str], errors: &mut Errors) {
    let Some(old) = old else { return };
    if at(old, path) != at(new, path) {
        errors.forbidden(path.join("."), "field is immutable");
    }
}

/// Returns the value at `path`; `Null` if absent.
pub fn at<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(object, |value, name| &value[*name])
}

/// Returns whether a text is a Kubernetes version in the API's form: `v1.2.3`, optionally with `-pre` and
/// `+build`.
pub fn is_kubernetes_version(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('v') else { return false };
    let mut numbers = rest.splitn(3, '.');
    let (Some(major), Some(minor), Some(patch)) = (numbers.next(), numbers.next(), numbers.next()) else {
        return false;
    };
    let end = patch.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(patch.len());
    let (patch, suffix) = patch.split_at(end);
    let number = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && (text == "0" || !text.starts_with('0'))
    };
    let suffix_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.+".contains(letter);
    [major, minor, patch].into_iter().all(number) && suffix.chars().all(suffix_letter)
}

/// Returns major and minor of a version, with or without `v`.
pub fn major_minor(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.trim_start_matches('v').split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Checks an optional version.
pub fn version(field: &str, value: Option<&str>, errors: &mut Errors) {
    if let Some(value) = value.filter(|value| !value.is_empty())
        && !is_kubernetes_version(value)
    {
        errors.invalid(field, value, "must be a semantic version with the prefix v, such as v1.35.0");
    }
}

/// Checks a label selector. Returns whether it is valid.
pub fn label_selector(field: &str, selector: &LabelSelector, errors: &mut Errors) -> bool {
    let value = serde_json::to_value(selector).unwrap_or_default();
    match selector::LabelSelector::from_object(&value) {
        Ok(_) => true,
        Err(problem) => {
            errors.invalid(field, value, problem);
            false
        }
    }
}

/// Returns whether a selector has no requirements.
pub fn selects_all(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(|labels| labels.is_empty())
        && selector.match_expressions.as_ref().is_none_or(|expressions| expressions.is_empty())
}

/// Checks labels and annotations of a template.
pub fn template_metadata(field: &str, metadata: Option<&ObjectMetaTemplate>, errors: &mut Errors) {
    let Some(metadata) = metadata else { return };
    for (key, value) in &metadata.labels {
        for problem in names::qualified_name(key) {
            errors.invalid(format_args!("{field}.labels"), key.as_str(), problem);
        }
        for problem in names::label_value(value) {
            errors.invalid(format_args!("{field}.labels"), value.as_str(), problem);
        }
    }
    for key in metadata.annotations.keys() {
        for problem in names::qualified_name(&key.to_lowercase()) {
            errors.invalid(format_args!("{field}.annotations"), key.as_str(), problem);
        }
    }
}

/// Checks an optional number or percentage such as `20%`.
pub fn number_or_percentage(field: &str, value: Option<&IntOrString>, errors: &mut Errors) {
    if let Some(IntOrString::String(text)) = value {
        let number = text.strip_suffix('%');
        let whole = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        if !number.is_some_and(whole) {
            errors.invalid(field, text.as_str(), "must be a number, or a percentage such as 20%");
        }
    }
}

/// Checks the limits of a rolling update. `field` is their path.
pub fn rolling_update(field: &str, limits: Option<&MachineDeploymentRollingUpdate>, errors: &mut Errors) {
    let Some(limits) = limits else { return };
    let (surge, unavailable) = (limits.max_surge.as_ref(), limits.max_unavailable.as_ref());
    number_or_percentage(&format!("{field}.maxSurge"), surge, errors);
    number_or_percentage(&format!("{field}.maxUnavailable"), unavailable, errors);
    let zero = |limit: Option<&IntOrString>| limit == Some(&IntOrString::Int(0));
    if zero(surge) && zero(unavailable) {
        errors.invalid(format_args!("{field}.maxUnavailable"), 0, "can't be 0 when maxSurge is 0");
    }
}

/// Checks a name that becomes a label value.
pub fn name_as_label(name: Option<&str>, errors: &mut Errors) {
    let name = name.unwrap_or_default();
    for problem in names::label_value(name) {
        errors.invalid("metadata.name", name, problem);
    }
}
