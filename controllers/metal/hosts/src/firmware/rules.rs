//! The constraints of firmware settings: read from the machine, and checked against wanted values. Pure.

use std::collections::BTreeMap;

use schemas::metal3::SettingSchema;
use sha2::{Digest, Sha256};

/// The values of the settings, and the constraints of each.
pub(super) type Values = (BTreeMap<String, String>, BTreeMap<String, SettingSchema>);
/// Returns whether settings of that name are secrets.
fn is_secret(name: &str) -> bool {
    name.contains("Password")
}

/// Returns the settings without secrets.
pub fn values(settings: &bmc::Settings) -> Values {
    let secret = |name: &str| {
        let kind = settings.limits.get(name).map(|limits| limits.kind);
        is_secret(name) || kind == Some(bmc::SettingType::Password)
    };
    let text = |setting: &bmc::Setting| match setting {
        bmc::Setting::Number(number) => number.to_string(),
        bmc::Setting::Text(text) => text.clone(),
        bmc::Setting::Switch(switch) => switch.to_string(),
    };
    let current = settings.current.iter().filter(|(name, _)| !secret(name));
    let limits = settings.limits.iter().filter(|(name, _)| !secret(name));
    (
        current.map(|(name, setting)| (name.clone(), text(setting))).collect(),
        limits.map(|(name, limits)| (name.clone(), schema(limits))).collect(),
    )
}

fn schema(limits: &bmc::SettingLimits) -> SettingSchema {
    let kind = match limits.kind {
        bmc::SettingType::Enumeration => "Enumeration",
        bmc::SettingType::String => "String",
        bmc::SettingType::Integer => "Integer",
        bmc::SettingType::Boolean => "Boolean",
        bmc::SettingType::Password => "Password",
    };
    SettingSchema {
        allowable_values: limits.allowed.clone(),
        attribute_type: Some(kind.to_owned()),
        lower_bound: limits.lower,
        upper_bound: limits.upper,
        min_length: limits.min_length,
        max_length: limits.max_length,
        read_only: Some(limits.read_only),
        unique: Some(limits.unique),
    }
}

/// Returns why a setting cannot have the value, or `None` if it can.
pub(super) fn objection(
    name: &str,
    text: &str,
    is_known: bool,
    schema: Option<&SettingSchema>,
) -> Option<String> {
    if is_secret(name) {
        return Some(format!("{name}: passwords of the firmware can't be set here"));
    }
    if !is_known {
        return Some(format!("{name}: the machine has no such setting: status.settings has their names"));
    }
    let schema = schema?;
    if schema.read_only == Some(true) {
        return Some(format!("{name} is read-only"));
    }
    if schema.unique == Some(true) {
        return Some(format!("{name} is another one at each machine and can't be set"));
    }
    match schema.attribute_type.as_deref()? {
        "Enumeration" if !schema.allowable_values.iter().any(|allowed| allowed == text) => {
            Some(format!("{name} must be one of {}, not {text:?}", schema.allowable_values.join(", ")))
        }
        "Boolean" if !["true", "false"].contains(&text.to_lowercase().as_str()) => {
            Some(format!("{name} must be true or false, not {text:?}"))
        }
        "Integer" => match text.parse::<i64>() {
            Err(_) => Some(format!("{name} must be a whole number, not {text:?}")),
            Ok(number) => outside(number, schema.lower_bound, schema.upper_bound)
                .map(|bound| format!("{name} must be {bound}, not {number}")),
        },
        "String" => {
            let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
            outside(length, schema.min_length, schema.max_length)
                .map(|bound| format!("{name} must have {bound} characters, not {length}"))
        }
        _ => None,
    }
}

fn outside(number: i64, lower: Option<i64>, upper: Option<i64>) -> Option<String> {
    match (lower, upper) {
        (Some(lower), _) if number < lower => Some(format!("at least {lower}")),
        (_, Some(upper)) if number > upper => Some(format!("at most {upper}")),
        _ => None,
    }
}

/// Returns the name of a schema, which is equal for machines of the same model.
pub fn schema_name(schema: &BTreeMap<String, SettingSchema>) -> String {
    let sum = Sha256::digest(serde_json::to_vec(schema).unwrap_or_default());
    let digits: String = sum.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("schema-{digits}")
}
