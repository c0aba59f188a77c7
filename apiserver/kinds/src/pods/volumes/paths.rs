//! Validation of paths inside volumes.

use machinery::field::FieldError;

use crate::fields::invalid;

pub(crate) fn no_back_steps(value: &str, path: &str) -> Option<FieldError> {
    value.split('/').any(|step| step == "..").then(|| invalid(path, value, "must not contain '..'"))
}

/// Requires a relative path without `..`.
pub(crate) fn relative(value: &str, path: &str, errors: &mut Vec<FieldError>) {
    if value.starts_with('/') {
        errors.push(invalid(path, value, "must be a relative path"));
    }
    errors.extend(no_back_steps(value, path));
}

pub(crate) fn inside(value: &str, path: &str, errors: &mut Vec<FieldError>) {
    relative(value, path, errors);
    if value.starts_with("..") && value.split('/').next() != Some("..") {
        errors.push(invalid(path, value, "must not start with '..'"));
    }
}
