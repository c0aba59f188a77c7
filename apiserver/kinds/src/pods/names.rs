//! Validation of the names of containers, volumes and resource claims in a pod.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names;
use serde_json::Value;

use crate::fields::invalid;

pub(crate) fn name_of(value: &Value) -> &str {
    value["name"].as_str().unwrap_or_default()
}

pub(crate) fn check_name(name: &str, path: &str, seen: &mut BTreeSet<String>, errors: &mut Vec<FieldError>) {
    // The structural validation reports a missing name.
    if name.is_empty() {
        return;
    }
    errors.extend(names::dns1123_label(name).into_iter().map(|why| invalid(path, name, why)));
    if !seen.insert(name.to_owned()) {
        errors.push(FieldError::new(FieldErrorKind::Duplicate, path, &name.into(), ""));
    }
}
