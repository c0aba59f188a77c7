//! Validation of a Job's `podFailurePolicy` and `successPolicy`.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names::qualified_name;
use serde_json::Value;

use super::indexes;
use crate::fields::{internal, invalid, list, required, text};

/// Maximum number of rules of a policy.
const RULES_MAX: usize = 20;
/// Maximum number of exit codes of a rule.
const CODES_MAX: usize = 255;

fn too_many(path: &str, count: usize, most: usize) -> Option<FieldError> {
    let why = format!("must have at most {most} items");
    (count > most).then(|| {
        let mut error = FieldError::bare(FieldErrorKind::TooMany, path, why);
        error.value = Some(count.to_string());
        error
    })
}

fn known(path: String, value: &str, allowed: &[&str], errors: &mut Vec<FieldError>) {
    if !value.is_empty() && !allowed.contains(&value) {
        let allowed: Vec<Value> = allowed.iter().copied().map(Value::from).collect();
        errors.push(FieldError::not_supported(path, &value.into(), &allowed));
    }
}

/// Validates `podFailurePolicy` of the Job spec at `path`.
pub(crate) fn check(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let rules = list(&spec["podFailurePolicy"], "rules");
    let path = format!("{path}.podFailurePolicy.rules");
    errors.extend(too_many(&path, rules.len(), RULES_MAX));
    let pod = &spec["template"]["spec"];
    let names: BTreeSet<&str> = list(pod, "containers")
        .iter()
        .chain(list(pod, "initContainers"))
        .map(|one| text(one, "name"))
        .collect();
    for (index, rule) in rules.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let action = text(rule, "action");
        if action == "FailIndex" && spec["backoffLimitPerIndex"].is_null() {
            let why = "requires the backoffLimitPerIndex to be set";
            errors.push(invalid(format!("{path}.action"), action, why));
        }
        known(format!("{path}.action"), action, &["Count", "FailIndex", "FailJob", "Ignore"], errors);
        let (codes, conditions) = (&rule["onExitCodes"], list(rule, "onPodConditions"));
        if codes.is_object() {
            exit_codes(codes, &format!("{path}.onExitCodes"), &names, errors);
        }
        errors.extend(too_many(&format!("{path}.onPodConditions"), conditions.len(), RULES_MAX));
        for (index, condition) in conditions.iter().enumerate() {
            let path = format!("{path}.onPodConditions[{index}]");
            let kind = text(condition, "type");
            let problems = qualified_name(kind);
            errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.type"), kind, why)));
            let status = text(condition, "status");
            known(format!("{path}.status"), status, &["False", "True", "Unknown"], errors);
        }
        let why = match (codes.is_object(), conditions.is_empty()) {
            (true, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, true) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        errors.push(FieldError::bare(FieldErrorKind::Invalid, path, why));
    }
}

fn exit_codes(codes: &Value, path: &str, names: &BTreeSet<&str>, errors: &mut Vec<FieldError>) {
    let operator = text(codes, "operator");
    known(format!("{path}.operator"), operator, &["In", "NotIn"], errors);
    if let Some(name) = codes["containerName"].as_str().filter(|name| !names.contains(name)) {
        let why = "must be one of the container or initContainer names in the pod template";
        errors.push(invalid(format!("{path}.containerName"), name, why));
    }
    let (values, path) = (list(codes, "values"), format!("{path}.values"));
    if values.is_empty() {
        errors.push(invalid(path.clone(), Value::Array(Vec::new()), "at least one value is required"));
    }
    errors.extend(too_many(&path, values.len(), CODES_MAX));
    let mut seen = BTreeSet::new();
    let numbers: Vec<i64> = values.iter().filter_map(Value::as_i64).collect();
    for (index, number) in numbers.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if operator == "In" && *number == 0 {
            errors.push(invalid(path.clone(), 0, "must not be 0 for the In operator"));
        }
        if !seen.insert(number) {
            errors.push(FieldError::new(FieldErrorKind::Duplicate, path, &(*number).into(), ""));
        }
    }
    if !numbers.is_sorted() {
        errors.push(invalid(path, values.to_vec(), "must be ordered"));
    }
}

/// Validates `successPolicy` of the Job spec at `path`.
pub(crate) fn success(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let policy = &spec["successPolicy"];
    if !policy.is_object() {
        return;
    }
    let path = format!("{path}.successPolicy");
    if spec["completionMode"] != "Indexed" {
        errors.push(internal(path, "batch.SuccessPolicy", policy, "requires indexed completion mode"));
        return;
    }
    let (rules, path) = (list(policy, "rules"), format!("{path}.rules"));
    if rules.is_empty() {
        let why = "at least one rules must be specified when the successPolicy is specified";
        errors.push(required(path.clone(), why));
    }
    errors.extend(too_many(&path, rules.len(), RULES_MAX));
    let all = spec["completions"].as_i64().unwrap_or(0);
    for (index, rule) in rules.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let (wanted, count) = (rule["succeededIndexes"].as_str(), rule["succeededCount"].as_i64());
        if wanted.is_none() && count.is_none() {
            let why = "at least one of succeededCount or succeededIndexes must be specified";
            errors.push(required(path.clone(), why));
        }
        let parsed = wanted.map(|wanted| indexes::parse(wanted, all));
        if let (Some(Err(why)), Some(wanted)) = (&parsed, wanted) {
            let why = format!("error parsing succeededIndexes: {why}");
            errors.push(invalid(format!("{path}.succeededIndexes"), wanted, why));
        }
        let Some(count) = count else { continue };
        let total = parsed.map(|parsed| parsed.map_or(0, |found| indexes::count(&found)));
        let path = format!("{path}.succeededCount");
        if count < 0 {
            errors.push(invalid(path.clone(), count, "must be greater than or equal to 0"));
        }
        if count > all {
            let why = format!("must be less than or equal to {all} (the number of specified completions)");
            errors.push(invalid(path.clone(), count, why));
        }
        if let Some(total) = total.filter(|total| count > *total) {
            let why = format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            );
            errors.push(invalid(path, count, why));
        }
    }
}
