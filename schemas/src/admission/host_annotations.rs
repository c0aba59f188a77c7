//! Admission rules of the annotations of a BareMetalHost that request an action.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use machinery::schema::{self, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::common::Errors;
use crate::metal3::{BareMetalHost, BareMetalHostStatus, HardwareDetails};
use crate::reboot::is_reboot;

/// The definitions with whose schemas annotations are validated.
const HOSTS: &str = "baremetalhosts.metal3.io";
const HARDWARE: &str = "hardwaredata.metal3.io";

const STATUS: &str = "baremetalhost.metal3.io/status";
const INSPECT: &str = "inspect.metal3.io";
const HARDWARE_DETAILS: &str = "inspect.metal3.io/hardwaredetails";
const POWER: &str = "metal.firstlight.dev/power";
const USER_DATA: &str = "netboot.firstlight.dev/user-data";
const POWERED: &str = "metal.firstlight.dev/powered";
const PROTECT_DISKS: &str = "metal.firstlight.dev/protect-disks";
/// The prefix of [`PROTECT_DISKS`] and of its misspellings, which are refused.
const PROTECT: &str = "metal.firstlight.dev/protect";

/// Values of `status.operationalStatus` and `status.errorType` that Metal3 accepts in the annotation: fewer
/// than in the status.
const OPERATIONAL: [&str; 6] = ["", "OK", "discovered", "error", "delayed", "detached"];
const ERROR_TYPES: [&str; 7] = [
    "",
    "provisioned registration error",
    "registration error",
    "inspection error",
    "preparation error",
    "provisioning error",
    "power management error",
];

pub fn validate(host: &BareMetalHost, errors: &mut Errors) {
    let annotations = host.metadata.annotations.iter().flatten();
    for (key, value) in annotations {
        let field = format!("metadata.annotations[{key}]");
        match key.as_str() {
            STATUS => status(&field, value, errors),
            INSPECT => inspect(&field, value, host, errors),
            HARDWARE_DETAILS => hardware_details(&field, value, host, errors),
            POWER => power(&field, value, host, errors),
            USER_DATA => one_of(&field, value, &["drive", "url", "http"], errors),
            POWERED => one_of(&field, value, &["on", "off"], errors),
            PROTECT_DISKS => one_of(&field, value, &["", "true"], errors),
            // With a mistake in the name, the disks would not be protected.
            _ if key.starts_with(PROTECT) => {
                errors.forbidden(&field, format!("there is no such annotation: write {PROTECT_DISKS}"));
            }
            _ if is_reboot(key) => reboot(&field, value, errors),
            _ => {}
        }
    }
}

/// Returns whether the host's hardware is described by a user instead of inspected.
pub fn inspection_is_disabled(host: &BareMetalHost) -> bool {
    let annotation = host.metadata.annotations.as_ref().and_then(|annotations| annotations.get(INSPECT));
    host.spec.inspection_mode.as_deref() == Some("disabled")
        || annotation.is_some_and(|value| value == "disabled")
}

/// Checks the annotations that ask for a reboot.
pub fn reboots(annotations: Option<&BTreeMap<String, String>>, errors: &mut Errors) {
    for (key, value) in annotations.into_iter().flatten().filter(|(key, _)| is_reboot(key)) {
        reboot(&format!("metadata.annotations[{key}]"), value, errors);
    }
}

fn one_of(field: &str, value: &str, allowed: &[&str], errors: &mut Errors) {
    if !allowed.contains(&value) {
        errors.not_supported(field, value, allowed);
    }
}

/// Checks a status that the host will take over; readers of the status must not find unknown values in it.
fn status(field: &str, text: &str, errors: &mut Errors) {
    if text.is_empty() {
        return;
    }
    match exactly::<BareMetalHostStatus>(HOSTS, &["status"], text) {
        Ok(status) => {
            one_of(&format!("{field}.operationalStatus"), &status.operational_status, &OPERATIONAL, errors);
            let error_type = status.error_type.as_deref().unwrap_or_default();
            one_of(&format!("{field}.errorType"), error_type, &ERROR_TYPES, errors);
        }
        Err(problem) => {
            errors.malformed(field, format!("must be the JSON of a BareMetalHost's status: {problem}"));
        }
    }
}

fn inspect(field: &str, value: &str, host: &BareMetalHost, errors: &mut Errors) {
    one_of(field, value, &["", "disabled"], errors);
    let contradicts = match host.spec.inspection_mode.as_deref() {
        Some("disabled") => value.is_empty(),
        Some(_) => value == "disabled",
        None => false,
    };
    if contradicts {
        errors
            .forbidden(field, "contradicts spec.inspectionMode: remove the annotation, or change the field");
    }
}

fn hardware_details(field: &str, text: &str, host: &BareMetalHost, errors: &mut Errors) {
    if text.is_empty() {
        return;
    }
    if !inspection_is_disabled(host) {
        errors.forbidden(
            field,
            "inspection would find out by itself: set spec.inspectionMode to disabled, or remove the annotation",
        );
    }
    let read = exactly::<HardwareDetails>(HARDWARE, &["spec", "hardware"], text);
    if let Err(problem) = read {
        errors.malformed(field, format!("must be the JSON of a HardwareData's spec.hardware: {problem}"));
    }
}

fn reboot(field: &str, text: &str, errors: &mut Errors) {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Arguments {
        mode: Option<String>,
        #[allow(dead_code, reason = "read for its type alone")]
        force: Option<bool>,
    }
    if text.is_empty() {
        return;
    }
    match serde_json::from_str::<Arguments>(text) {
        Ok(arguments) => {
            let mode = arguments.mode.unwrap_or_default();
            one_of(&format!("{field}.mode"), &mode, &["", "hard", "soft"], errors);
        }
        Err(problem) => errors.invalid(
            field,
            text,
            format!("must be empty, or JSON such as {{\"mode\":\"hard\",\"force\":false}}: {problem}"),
        ),
    }
}

/// Checks how the power of a host without a BMC is switched.
fn power(field: &str, value: &str, host: &BareMetalHost, errors: &mut Errors) {
    one_of(field, value, &["manual", "wake-on-lan"], errors);
    let has_mac_address = host.spec.boot_mac_address.as_deref().is_some_and(|mac| !mac.is_empty());
    if value == "wake-on-lan" && !has_mac_address {
        errors.required(
            "spec.bootMACAddress",
            format!("the host is woken by its MAC address ({POWER}: wake-on-lan)"),
        );
    }
}

/// Parses JSON into `T` like Go's strict decoder: a field that the definition `crd` lacks at `path` is an
/// error, null and empty text count as absent. The result must be valid for the definition at that path,
/// since it will be stored there.
fn exactly<T: DeserializeOwned + Serialize>(crd: &str, path: &[&str], text: &str) -> Result<T, String> {
    let value: Value = serde_json::from_str(text).map_err(|problem| problem.to_string())?;
    if !value.is_object() {
        return Err("it is not an object".to_owned());
    }
    let schema = schema_of(crd)?;
    if let Some(field) = schema::prune(schema, &mut within(path, value.clone())).first() {
        return Err(format!("unknown field {field:?}"));
    }
    let typed: T = serde_json::from_value(without_empty(value)).map_err(|problem| problem.to_string())?;
    let stored = serde_json::to_value(&typed).map_err(|problem| problem.to_string())?;
    match schema::validate_values(schema, &within(path, stored), None).first() {
        Some(problem) => Err(format!("{}: {}", problem.field, problem.body())),
        None => Ok(typed),
    }
}

/// The schemas of annotations, by the names of their definitions.
static SCHEMAS: LazyLock<Result<BTreeMap<String, Schema>, String>> = LazyLock::new(|| {
    let manifests = crate::manifests().map_err(|problem| problem.to_string())?;
    let ours = manifests.into_iter().filter(|(name, _)| [HOSTS, HARDWARE].contains(&name.as_str()));
    let parsed = ours.map(|(name, text)| {
        let definition: Value = serde_json::from_str(&text).map_err(|problem| problem.to_string())?;
        let schema = Schema::parse(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
        Ok((name, schema.map_err(|problem| problem.to_string())?))
    });
    parsed.collect()
});

fn schema_of(crd: &str) -> Result<&'static Schema, String> {
    let schemas = SCHEMAS.as_ref().map_err(Clone::clone)?;
    schemas.get(crd).ok_or_else(|| format!("there is no definition {crd}"))
}

/// Returns an object that has only `value` at `path`.
fn within(path: &[&str], value: Value) -> Value {
    path.iter().rev().fold(value, |inner, name| json!({ *name: inner }))
}

fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null() && value != "");
            kept.map(|(name, value)| (name, without_empty(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_empty).collect(),
        other => other,
    }
}
