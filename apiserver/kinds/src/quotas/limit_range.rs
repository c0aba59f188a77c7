//! LimitRanges.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names::qualified_name;
use machinery::quantity::nanos;
use serde_json::{Map, Value};

use crate::fields::{empty_list_to_null, forbidden, invalid, list, required, text};
use crate::pods::resources;
use crate::strategy::rules::{NONE, Rules};

/// `v1` LimitRange.
pub(crate) const LIMIT_RANGE: Rules = Rules {
    drop_gated: |object| empty_list_to_null(object, "/spec/limits"),
    normalize: |range| {
        let Some(limits) = range.pointer_mut("/spec/limits").and_then(Value::as_array_mut) else { return };
        for limit in limits {
            if limit["type"] == "Container" {
                fill(limit);
            }
        }
    },
    validate: |range| {
        let mut errors = Vec::new();
        let mut seen = BTreeSet::new();
        for (index, limit) in list(&range["spec"], "limits").iter().enumerate() {
            let path = format!("spec.limits[{index}]");
            let kind = text(limit, "type");
            let known = ["Pod", "Container", "PersistentVolumeClaim"].contains(&kind);
            if !kind.contains('/') && qualified_name(kind).is_empty() && !known {
                let why = "must be a standard limit type or fully qualified";
                errors.push(invalid(format!("{path}.type"), kind, why));
            }
            if seen.contains(kind) {
                let path = format!("{path}.type");
                errors.push(FieldError::new(FieldErrorKind::Duplicate, path, &kind.into(), ""));
            }
            seen.insert(kind);
            limits(limit, kind, &path, &mut errors);
        }
        errors
    },
    ..NONE
};

/// Defaults `default` to `max`, and `defaultRequest` to `default`, then to `min`.
fn fill(limit: &mut Value) {
    let copy = |limit: &mut Value, to: &str, from: &str| {
        for (name, amount) in limit[from].as_object().cloned().unwrap_or_default() {
            if limit[to][&name].is_null() {
                limit[to][&name] = amount;
            }
        }
    };
    copy(limit, "default", "max");
    copy(limit, "defaultRequest", "default");
    copy(limit, "defaultRequest", "min");
}

fn limits(limit: &Value, kind: &str, path: &str, errors: &mut Vec<FieldError>) {
    const LISTS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
    let empty = Map::new();
    let amounts = |name: &str| limit[name].as_object().unwrap_or(&empty);
    let mut names: BTreeSet<&String> = BTreeSet::new();
    for field in LISTS {
        if kind == "Pod" && field.starts_with("default") {
            if !amounts(field).is_empty() {
                let why = "may not be specified when `type` is 'Pod'";
                errors.push(forbidden(format!("{path}.{field}"), why));
            }
            continue;
        }
        for name in amounts(field).keys() {
            let at = format!("{path}.{field}[{name}]");
            errors.extend(match kind {
                "Pod" | "Container" => resources::of_container(name, &at),
                _ => resources::name(name, &at),
            });
            names.insert(name);
        }
    }
    if kind == "PersistentVolumeClaim"
        && ["min", "max"].iter().all(|field| limit[*field]["storage"].is_null())
    {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        errors.push(required(format!("{path}.limits"), why));
    }
    names.into_iter().for_each(|name| compare(limit, name, path, errors));
}

/// Validates the order of the amounts of one resource: `min`, `defaultRequest`, `default`, `max`.
fn compare(limit: &Value, name: &str, path: &str, errors: &mut Vec<FieldError>) {
    let find = |field: &str| {
        let shown = limit[field][name].as_str()?.to_owned();
        nanos(&shown).map(|value| (value, shown))
    };
    let (min, max) = (find("min"), find("max"));
    let (default, request, ratio) = (find("default"), find("defaultRequest"), find("maxLimitRequestRatio"));
    let mut ordered = |small: &Option<(i128, String)>,
                       large: &Option<(i128, String)>,
                       [of_small, of_large]: [&str; 2],
                       field: &str,
                       shown: &Option<(i128, String)>| {
        if let (Some(small), Some(large), Some((_, shown))) = (small, large, shown)
            && small.0 > large.0
        {
            let why = format!("{of_small} value {} is greater than {of_large} value {}", small.1, large.1);
            errors.push(invalid(format!("{path}.{field}[{name}]"), shown.as_str(), why));
        }
    };
    ordered(&min, &max, ["min", "max"], "min", &min);
    ordered(&min, &request, ["min", "default request"], "defaultRequest", &request);
    ordered(&request, &max, ["default request", "max"], "defaultRequest", &request);
    ordered(&request, &default, ["default request", "default limit"], "defaultRequest", &request);
    ordered(&min, &default, ["min", "default"], "default", &min);
    ordered(&default, &max, ["default", "max"], "default", &max);
    if let Some((value, shown)) = &ratio {
        let field = format!("{path}.maxLimitRequestRatio[{name}]");
        if *value < 1_000_000_000 {
            errors.push(invalid(field.clone(), shown.as_str(), format!("ratio {shown} is less than 1")));
        }
        if let (Some((min, _)), Some((max, _))) = (&min, &max) {
            #[expect(clippy::cast_precision_loss, reason = "a ratio is shown with six digits")]
            let most = *max as f64 / *min as f64;
            #[expect(clippy::cast_precision_loss, reason = "a ratio is compared as a number of that kind")]
            let wanted = *value as f64 / 1e9;
            if wanted > most {
                let why = format!("ratio {shown} is greater than max/min = {most:.6}");
                errors.push(invalid(field, shown.as_str(), why));
            }
        }
    }
    if !resources::is_elastic(name)
        && let (Some(default), Some(request)) = (&default, &request)
        && default.0 != request.0
    {
        let why =
            format!("default value {} must equal to defaultRequest value {} in {name}", default.1, request.1);
        errors.push(invalid(format!("{path}.defaultRequest[{name}]"), request.1.as_str(), why));
    }
}
