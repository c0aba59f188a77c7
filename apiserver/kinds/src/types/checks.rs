//! Checks of single fields of built-in types, defined in `checks.txt`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::addresses::{address_problem, cidr_problem};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::names::{dns1035_label, dns1123_label, dns1123_subdomain, label_value, qualified_name};

/// A check: its name and its arguments.
type Check = (&'static str, &'static str);

/// The checks by type and field.
static CHECKS: LazyLock<BTreeMap<(&str, &str), Vec<Check>>> = LazyLock::new(|| {
    let mut checks: BTreeMap<(&str, &str), Vec<Check>> = BTreeMap::new();
    for line in include_str!("checks.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.splitn(4, ' ');
        if let (Some(ty), Some(field), Some(check)) = (words.next(), words.next(), words.next()) {
            checks.entry((ty, field)).or_default().push((check, words.next().unwrap_or_default()));
        }
    }
    checks
});

/// Returns whether the structural checks apply to a field, that is, no check in `checks.txt` replaces them.
pub(super) fn are_structural(ty: &str, field: &str) -> bool {
    let takes_over = |(name, _): &Check| {
        matches!(*name, "free" | "required" | "values" | "values!") || name.ends_with('!')
    };
    CHECKS.get(&(ty, field)).is_none_or(|checks| !checks.iter().any(takes_over))
}

/// Applies the checks of a field to the value at `path`.
pub(super) fn check(ty: &str, field: &str, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (name, arguments) in CHECKS.get(&(ty, field)).into_iter().flatten() {
        one(name, arguments, value, path, errors);
    }
}

fn one(name: &str, arguments: &str, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let (name, always) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
    match name {
        "between" | "at-least" => errors.extend(bounds(value, arguments, path)),
        "port" => errors.extend(port(value, path)),
        "percent" => errors.extend(percent(value, path)),
        "labels" => labels(value, path, errors),
        "selector" => selector(value, path, errors),
        "required" if value.as_str().is_none_or(str::is_empty) => {
            errors.push(FieldError::bare(FieldErrorKind::Required, path, arguments));
        }
        "values" => each(value, path, always, &mut |text, path| {
            let allowed: Vec<&str> = arguments.split(' ').collect();
            if !allowed.contains(&text) {
                let allowed: Vec<Value> = allowed.into_iter().map(Value::from).collect();
                errors.push(FieldError::not_supported(path, &text.into(), &allowed));
            }
        }),
        "free" | "required" => {}
        form => each(value, path, always, &mut |text, path| {
            errors.extend(problems(form, text).into_iter().map(|why| invalid(path, text, why)));
        }),
    }
}

/// Calls `with` for a text, or for each text of a list. Empty texts are included if `always` is set.
fn each(value: &Value, path: &str, always: bool, with: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each(item, &format!("{path}[{index}]"), always, with);
            }
        }
        Value::String(text) if always || !text.is_empty() => with(text, path),
        _ => {}
    }
}

fn invalid(path: &str, value: impl Into<Value>, why: impl Into<String>) -> FieldError {
    FieldError::new(FieldErrorKind::Invalid, path, &value.into(), why)
}

fn problems(form: &str, text: &str) -> Vec<String> {
    match form {
        "subdomain" => dns1123_subdomain(text),
        "label" => dns1123_label(text),
        "label1035" => dns1035_label(text),
        "qualified" => qualified_name(text),
        "value" => label_value(text),
        "ip" => address_problem(text).map(str::to_owned).into_iter().collect(),
        "cidr" => cidr_problem(text).map(str::to_owned).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn bounds(value: &Value, arguments: &str, path: &str) -> Option<FieldError> {
    let number = value.as_i64()?;
    let mut limits = arguments.split(' ').filter_map(|limit| limit.parse::<i64>().ok());
    match (limits.next()?, limits.next()) {
        (low, Some(high)) if !(low..=high).contains(&number) => {
            Some(invalid(path, number, format!("must be between {low} and {high}, inclusive")))
        }
        (low, None) if number < low => {
            Some(invalid(path, number, format!("must be greater than or equal to {low}")))
        }
        _ => None,
    }
}

/// Validates the number or the name of a port.
fn port(value: &Value, path: &str) -> Vec<FieldError> {
    match value {
        Value::String(name) => {
            port_name(name).into_iter().map(|why| invalid(path, name.as_str(), why)).collect()
        }
        value => bounds(value, "1 65535", path).into_iter().collect(),
    }
}

/// Returns the problems of the name of a port.
pub fn port_name(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut must = |holds: bool, why: &str| {
        if !holds {
            problems.push(format!("must {why}"));
        }
    };
    must(name.len() <= 15, "be no more than 15 characters");
    let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    must(plain && !name.is_empty(), "contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    must(name.bytes().any(|byte| byte.is_ascii_lowercase()), "contain at least one letter (a-z)");
    must(!name.contains("--"), "not contain consecutive hyphens");
    must(!name.starts_with('-') && !name.ends_with('-'), "not begin or end with a hyphen");
    problems
}

fn percent(value: &Value, path: &str) -> Vec<FieldError> {
    let Value::String(text) = value else { return bounds(value, "0", path).into_iter().collect() };
    let digits = text.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
               regex used for validation is '[0-9]+%')";
    vec![invalid(path, text.as_str(), why)]
}

fn labels(value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        errors.extend(qualified_name(key).into_iter().map(|why| invalid(path, key.as_str(), why)));
        errors.extend(label_value(text).into_iter().map(|why| invalid(path, text, why)));
    }
}

/// Validates a label selector.
pub fn selector(value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    labels(&value["matchLabels"], &format!("{path}.matchLabels"), errors);
    for (index, requirement) in value["matchExpressions"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        let text = |field: &str| requirement[field].as_str().unwrap_or_default();
        let values = requirement["values"].as_array().map(Vec::as_slice).unwrap_or_default();
        let at = |field: &str| format!("{path}.{field}");
        match text("operator") {
            "In" | "NotIn" if values.is_empty() => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::bare(FieldErrorKind::Required, at("values"), why));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::bare(FieldErrorKind::Forbidden, at("values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => errors.push(invalid(&at("operator"), other, "not a valid selector operator")),
        }
        let key = text("key");
        errors.extend(qualified_name(key).into_iter().map(|why| invalid(&at("key"), key, why)));
        each(&requirement["values"], &at("values"), true, &mut |text, path| {
            errors.extend(label_value(text).into_iter().map(|why| invalid(path, text, why)));
        });
    }
}
