//! Rules about objects that clients write in `v1beta1`, of fields that do not exist in `v1beta2`.

use machinery::field::{FieldError, FieldErrorKind};
use machinery::meta;
use serde_json::Value;

use super::{STORED, converts, metal3_remediation};

/// Checks an object that a client writes in another version than the stored one. Returns warnings for the client.
///
/// # Errors
/// Values that cannot be converted.
pub fn check(group: &str, object: &Value) -> Result<Vec<String>, Vec<FieldError>> {
    let kind = meta::kind(object);
    let is_stored = meta::group_version(meta::api_version(object)).1 == STORED;
    if is_stored || !converts(group, kind) {
        return Ok(Vec::new());
    }
    match kind {
        "Metal3Cluster" => Ok(cloud_provider("spec", &object["spec"])),
        "Metal3ClusterTemplate" => {
            Ok(cloud_provider("spec.template.spec", &object["spec"]["template"]["spec"]))
        }
        "Metal3Remediation" => timeout("spec", &object["spec"]),
        "Metal3RemediationTemplate" => timeout("spec.template.spec", &object["spec"]["template"]["spec"]),
        _ => Ok(Vec::new()),
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

fn timeout(path: &str, spec: &Value) -> Result<Vec<String>, Vec<FieldError>> {
    let timeout = &spec["strategy"]["timeout"];
    if timeout.as_str().is_none_or(|text| metal3_remediation::seconds(text).is_some()) {
        return Ok(Vec::new());
    }
    Err(vec![FieldError::new(
        FieldErrorKind::Invalid,
        format!("{path}.strategy.timeout"),
        timeout,
        "must be a duration, such as 600s or 10m",
    )])
}
