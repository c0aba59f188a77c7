//! Label selectors.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// Returns whether the labels match. Unlike in Kubernetes an empty selector matches nothing, because no owner selects all objects; and so
/// does one with an unknown operator.
pub fn matches(selector: &LabelSelector, labels: Option<&BTreeMap<String, String>>) -> bool {
    let get = |key: &str| labels.and_then(|labels| labels.get(key));
    let exact = selector.match_labels.as_ref();
    let expressions = selector.match_expressions.as_deref().unwrap_or_default();
    if exact.is_none_or(BTreeMap::is_empty) && expressions.is_empty() {
        return false;
    }
    exact.into_iter().flatten().all(|(key, value)| get(key) == Some(value))
        && expressions.iter().all(|expression| {
            let values = expression.values.as_deref().unwrap_or_default();
            let value = get(&expression.key);
            match expression.operator.as_str() {
                "In" => value.is_some_and(|value| values.contains(value)),
                "NotIn" => value.is_none_or(|value| !values.contains(value)),
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        })
}

/// Returns the selector in its text form, sorted by key.
pub fn text(selector: &LabelSelector) -> String {
    let mut parts: BTreeMap<&str, String> = BTreeMap::new();
    for (key, value) in selector.match_labels.iter().flatten() {
        parts.insert(key, format!("{key}={value}"));
    }
    for expression in selector.match_expressions.iter().flatten() {
        let key = &expression.key;
        let mut values = expression.values.clone().unwrap_or_default();
        values.sort();
        let part = match expression.operator.as_str() {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.clone(),
        };
        parts.insert(key, part);
    }
    parts.into_values().collect::<Vec<_>>().join(",")
}
