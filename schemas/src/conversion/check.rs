//! Rules about objects that clients write in an older version, of fields that do not exist in `v1beta2`.

use machinery::field::{FieldError, FieldErrorKind};
use machinery::meta;
use serde_json::Value;

use super::STORED;
use super::moves::Move::{self, All, Each, Seconds, Within};
use super::rules::rules;
use super::seconds::whole_seconds;

/// Checks an object that a client writes in another version than the stored one. Returns warnings for the client.
///
/// # Errors
/// Values that cannot be converted.
pub fn check(group: &str, object: &Value) -> Result<Vec<String>, Vec<FieldError>> {
    let kind = meta::kind(object);
    let version = meta::group_version(meta::api_version(object)).1;
    let Some(rules) = rules(group, kind, version).filter(|_| version != STORED) else {
        return Ok(Vec::new());
    };
    let mut errors = Vec::new();
    durations(rules.moves, object, "", &mut errors);
    let template = &object["spec"]["template"]["spec"];
    match kind {
        "Metal3Remediation" => {
            duration("spec.strategy.timeout", &object["spec"]["strategy"]["timeout"], &mut errors)
        }
        "Metal3RemediationTemplate" => {
            duration("spec.template.spec.strategy.timeout", &template["strategy"]["timeout"], &mut errors);
        }
        _ => {}
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(match kind {
        "Metal3Cluster" => cloud_provider("spec", &object["spec"]),
        "Metal3ClusterTemplate" => cloud_provider("spec.template.spec", template),
        _ => Vec::new(),
    })
}

/// Checks all durations that a table moves. `path` is that of the object.
fn durations(moves: &[Move], object: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let within = |place: &str| format!("{path}{place}").replace('/', ".");
    for step in moves {
        match step {
            All(moves) => durations(moves, object, path, errors),
            Within(place, moves) => {
                let inner = object.pointer(place).unwrap_or(&Value::Null);
                durations(moves, inner, &within(place), errors);
            }
            Each(place, moves) => {
                let items = object.pointer(place).and_then(Value::as_array);
                for (index, item) in items.into_iter().flatten().enumerate() {
                    durations(moves, item, &format!("{}[{index}]", within(place)), errors);
                }
            }
            Seconds(place, _) => {
                let path = within(place);
                duration(path.trim_start_matches('.'), object.pointer(place).unwrap_or(&Value::Null), errors);
            }
            _ => {}
        }
    }
}

/// Warns about a `noCloudProvider` that upstream ignores, too.
fn cloud_provider(path: &str, spec: &Value) -> Vec<String> {
    let Some(none) = spec["noCloudProvider"].as_bool() else { return Vec::new() };
    let enabled = spec["cloudProviderEnabled"].as_bool().unwrap_or_default();
    if none != enabled {
        return Vec::new();
    }
    vec![format!(
        "{path}.noCloudProvider: {none} is ignored, as by Metal3; set cloudProviderEnabled: {} if you mean it",
        !none
    )]
}

fn duration(path: &str, value: &Value, errors: &mut Vec<FieldError>) {
    if value.as_str().is_some_and(|text| whole_seconds(text).is_none()) {
        let kind = FieldErrorKind::Invalid;
        errors.push(FieldError::new(kind, path.to_owned(), value, "must be a duration, such as 600s or 10m"));
    }
}
