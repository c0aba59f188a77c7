//! The firmware's settings: `Bios`, its settings object, and the attribute registry with the constraints.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::http::Resource;
use super::links::{link, members, texts};
use super::service::Service;
use crate::{Error, Result, Setting, SettingLimits, SettingType, Settings};

/// Returns the settings of a resource; those without a value, or with a value that is not a scalar, are left out.
pub fn attributes(bios: &Value) -> BTreeMap<String, Setting> {
    let each = bios["Attributes"].as_object().into_iter().flatten();
    each.filter_map(|(name, value)| setting(value).map(|setting| (name.clone(), setting))).collect()
}

fn setting(value: &Value) -> Option<Setting> {
    match value {
        Value::String(text) => Some(Setting::Text(text.clone())),
        Value::Bool(switch) => Some(Setting::Switch(*switch)),
        Value::Number(number) => number.as_i64().map(Setting::Number),
        _ => None,
    }
}

fn value(setting: &Setting) -> Value {
    match setting {
        Setting::Text(text) => json!(text),
        Setting::Switch(switch) => json!(switch),
        Setting::Number(number) => json!(number),
    }
}

/// Returns the constraints in an `AttributeRegistry`.
pub fn limits(registry: &Value) -> BTreeMap<String, SettingLimits> {
    let entries =
        registry.pointer("/RegistryEntries/Attributes").and_then(Value::as_array).into_iter().flatten();
    let mut found = BTreeMap::new();
    for entry in entries {
        let kind = match entry["Type"].as_str() {
            Some("Enumeration") => SettingType::Enumeration,
            Some("String") => SettingType::String,
            Some("Integer") => SettingType::Integer,
            Some("Boolean") => SettingType::Boolean,
            Some("Password") => SettingType::Password,
            _ => continue,
        };
        let Some(name) = entry["AttributeName"].as_str() else { continue };
        let values = entry["Value"].as_array().into_iter().flatten();
        let allowed = values.filter_map(|value| value["ValueName"].as_str().map(str::to_owned)).collect();
        let number = |property: &str| entry[property].as_i64();
        let limits = SettingLimits {
            kind,
            allowed,
            lower: number("LowerBound"),
            upper: number("UpperBound"),
            min_length: number("MinLength"),
            max_length: number("MaxLength"),
            read_only: entry["ReadOnly"] == true,
            unique: entry["IsSystemUniqueProperty"] == true,
        };
        found.insert(name.to_owned(), limits);
    }
    found
}

/// The constraints of a firmware's settings, as the service's registries have them.
#[derive(Default)]
pub(super) struct Constraints {
    /// The last ones that were read, with the name of their registry.
    known: Mutex<(String, BTreeMap<String, SettingLimits>)>,
}

impl Constraints {
    /// Returns the constraints in the registry of this name. Once found they are not read again, because other firmware has a registry
    /// of another name.
    async fn of(&self, service: &Service, name: &str) -> Result<BTreeMap<String, SettingLimits>> {
        let (known, constraints) = self.known.lock().clone();
        if known == name && !constraints.is_empty() {
            return Ok(constraints);
        }
        let found = registry(service, name).await?.as_ref().map(limits).unwrap_or_default();
        *self.known.lock() = (name.to_owned(), found.clone());
        Ok(found)
    }
}

/// Returns the registry of this name, in English if it exists in English.
async fn registry(service: &Service, name: &str) -> Result<Option<Value>> {
    let Some(collection) = link(service.root().await?, "/Registries").filter(|_| !name.is_empty()) else {
        return Ok(None);
    };
    // A registry like `BiosAttributeRegistryP89.v1_0_0` may be listed as `BiosAttributeRegistryP89`.
    let stem = name.split('.').next().unwrap_or(name);
    let paths = members(&service.get(&collection).await?.body);
    let last = |path: &String| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let found = paths.iter().find(|path| last(path) == name).or(paths.iter().find(|path| last(path) == stem));
    let Some(path) = found else { return Ok(None) };
    let file = service.get(path).await?.body;
    let places = file["Location"].as_array().map(Vec::as_slice).unwrap_or_default();
    let english = places.iter().find(|place| place["Language"].as_str().is_some_and(|l| l.starts_with("en")));
    let Some(address) = english.or(places.first()).and_then(|place| place["Uri"].as_str()) else {
        return Ok(None);
    };
    match service.path_of(address) {
        Some(path) => Ok(Some(service.get(&path).await?.body)),
        None => Ok(None),
    }
}

/// The resource `Bios` of the system.
pub(super) struct Bios<'a> {
    service: &'a Service,
    bios: Resource,
}

impl<'a> Bios<'a> {
    /// Reads the resource.
    pub(super) async fn of(service: &'a Service) -> Result<Self> {
        let system = service.system().await?;
        let path = link(&system.body, "/Bios").ok_or_else(|| {
            service.unsupported("the firmware's settings", "the system has no Bios resource")
        })?;
        Ok(Self { service, bios: service.get(&path).await? })
    }

    /// Returns the settings in force and those of the next start.
    pub(super) async fn settings(&self, constraints: &Constraints) -> Result<Settings> {
        let current = attributes(&self.bios.body);
        let mut pending = BTreeMap::new();
        if let Some(resource) = self.pending().await? {
            pending = attributes(&resource.body);
            pending.retain(|name, setting| current.get(name) != Some(setting));
        }
        let registry = self.bios.body["AttributeRegistry"].as_str().unwrap_or_default();
        Ok(Settings { current, pending, limits: constraints.of(self.service, registry).await? })
    }

    /// Reads the resource with the settings of the next start, if the service has one.
    async fn pending(&self) -> Result<Option<Resource>> {
        match link(&self.bios.body, "/@Redfish.Settings/SettingsObject") {
            Some(path) => self.service.get(&path).await.map(Some),
            None => Ok(None),
        }
    }

    /// Changes settings for the next start.
    pub(super) async fn change(&self, settings: &BTreeMap<String, Setting>) -> Result<()> {
        let changes: Map<String, Value> =
            settings.iter().map(|(name, setting)| (name.clone(), value(setting))).collect();
        let mut body = json!({"Attributes": changes});
        let resource = self.pending().await?.unwrap_or_else(|| self.bios.clone());
        // iDRAC creates the job that applies the change only if the request has an apply time.
        let times = texts(&self.bios.body["@Redfish.Settings"]["SupportedApplyTimes"]);
        if times.iter().any(|time| time == "OnReset") {
            body["@Redfish.SettingsApplyTime"] = json!({"ApplyTime": "OnReset"});
        }
        let answer = self.service.patch(&resource, &body).await?;
        // A service that creates a task (202) applies it at the next start, and may show the old values until then.
        if answer.status == 202 {
            return Ok(());
        }
        let found = attributes(&self.service.get(&resource.path).await?.body);
        match settings.iter().find(|(name, wanted)| found.get(*name) != Some(*wanted)) {
            None => Ok(()),
            Some((name, wanted)) => Err(Error::NotStored {
                call: answer.call,
                what: format!("setting {name}"),
                wanted: value(wanted).to_string(),
                found: found.get(name).map_or_else(|| "not set".to_owned(), |found| value(found).to_string()),
            }),
        }
    }
}
