//! The boot device selection: the property `Boot` of the system.

use serde_json::{Map, Value, json};

use super::extension;
use super::links::texts;
use super::service::Service;
use super::tasks::ReadBack;
use super::vendor::Quirks;
use crate::{Boot, BootDevice, BootMode, Error, Persistence, Result};

/// Returns the stored boot device selection.
pub(crate) fn stored(system: &Value) -> Option<Boot> {
    let boot = &system["Boot"];
    let device = match boot["BootSourceOverrideTarget"].as_str()? {
        "Pxe" => BootDevice::Network,
        "UefiHttp" => BootDevice::UefiHttp { url: boot["HttpBootUri"].as_str().map(str::to_owned) },
        "Hdd" => BootDevice::Disk,
        "Cd" | "UsbCd" => BootDevice::VirtualMedia,
        _ => return None,
    };
    let persistence = match boot["BootSourceOverrideEnabled"].as_str()? {
        "Once" => Persistence::Once,
        "Continuous" => Persistence::Always,
        _ => return None,
    };
    Some(Boot { device, persistence, mode: mode(system) })
}

fn mode(system: &Value) -> Option<BootMode> {
    match system["Boot"]["BootSourceOverrideMode"].as_str()? {
        "UEFI" => Some(BootMode::Uefi),
        "Legacy" => Some(BootMode::Legacy),
        _ => None,
    }
}

/// Returns Redfish's names of a device, the preferred one first.
fn names(device: &BootDevice, quirks: &Quirks) -> &'static [&'static str] {
    match device {
        BootDevice::Network => &["Pxe"],
        BootDevice::UefiHttp { .. } => &["UefiHttp"],
        BootDevice::Disk => &["Hdd"],
        BootDevice::VirtualMedia => quirks.cd,
    }
}

fn enabled(persistence: Persistence) -> &'static str {
    match persistence {
        Persistence::Once => "Once",
        Persistence::Always => "Continuous",
    }
}

/// Returns the request body, or the reason why the service does not have the boot device.
pub fn change(
    system: &Value,
    wanted: &Boot,
    persistence: Persistence,
    quirks: &Quirks,
) -> Result<Value, String> {
    let current = &system["Boot"];
    let offered = texts(&current["BootSourceOverrideTarget@Redfish.AllowableValues"]);
    let fitting = names(&wanted.device, quirks);
    let target = match offered.is_empty() {
        true => fitting.first(),
        false => fitting.iter().find(|name| offered.iter().any(|offer| offer == *name)),
    };
    let target = target.ok_or_else(|| format!("the service offers only {}", offered.join(", ")))?;
    let mut boot = Map::new();
    boot.insert("BootSourceOverrideTarget".to_owned(), json!(target));
    // Some services refuse a value that is stored already; others refuse requests that omit it.
    let mut differing = |property: &str, value: &str| {
        if current[property] != *value || quirks.repeats_stored {
            boot.insert(property.to_owned(), json!(value));
        }
    };
    differing("BootSourceOverrideEnabled", enabled(persistence));
    // A service without boot modes does not show the property.
    if let Some(mode) = wanted.mode.filter(|_| current["BootSourceOverrideMode"].is_string()) {
        differing("BootSourceOverrideMode", if mode == BootMode::Uefi { "UEFI" } else { "Legacy" });
    }
    if let BootDevice::UefiHttp { url } = &wanted.device
        && (url.is_some() || current["HttpBootUri"].is_string())
    {
        boot.insert("HttpBootUri".to_owned(), json!(url));
    }
    Ok(json!({"Boot": boot}))
}

/// Returns the first difference between the stored and the wanted selection: property, wanted value, found value.
pub fn difference(system: &Value, wanted: &Boot) -> Option<(&'static str, String, String)> {
    let found = &system["Boot"];
    let shown = |property: &str| found[property].as_str().unwrap_or("not set").to_owned();
    let Some(boot) = stored(system) else {
        let what = format!("{} ({})", shown("BootSourceOverrideTarget"), shown("BootSourceOverrideEnabled"));
        return Some(("the boot device", wanted.device.to_string(), what));
    };
    match (&wanted.device, &boot.device) {
        // URLs may contain tokens, so they are not shown.
        (BootDevice::UefiHttp { url: Some(wanted) }, BootDevice::UefiHttp { url }) => {
            if url.as_ref() != Some(wanted) {
                let found = if url.is_some() { "another one" } else { "not set" };
                return Some(("HttpBootUri", "the address that was written".to_owned(), found.to_owned()));
            }
        }
        (BootDevice::UefiHttp { url: None }, BootDevice::UefiHttp { .. }) => {}
        (wanted, found) if wanted == found => {}
        (wanted, found) => return Some(("the boot device", wanted.to_string(), found.to_string())),
    }
    match (wanted.mode, boot.mode) {
        (Some(wanted), Some(found)) if wanted != found => {
            Some(("the boot mode", wanted.to_string(), found.to_string()))
        }
        _ => None,
    }
}

/// Selects a boot device, and returns the selection that the service has stored.
pub(super) async fn choose(service: &Service, wanted: &Boot) -> Result<Boot> {
    let system = service.system().await?;
    let quirks = service.quirks(&system).await?;
    if let Some(done) = extension::choose(service, &system, quirks.media_boot, wanted).await? {
        return Ok(done);
    }
    let refused = |reason: String| service.unsupported(&wanted.device.to_string(), &reason);
    let patch = change(&system.body, wanted, wanted.persistence, quirks).map_err(refused)?;
    let mut answer = service.patch(&system, &patch).await;
    // The standard has removed persistent boot devices: services without them accept a device for a single start.
    if wanted.persistence == Persistence::Always
        && matches!(answer, Err(Error::Status { status: 400 | 405 | 422 | 500 | 501, .. }))
    {
        let once = change(&system.body, wanted, Persistence::Once, quirks).map_err(refused)?;
        answer = service.patch(&system, &once).await;
    }
    let answer = answer.map_err(|error| match &wanted.device {
        BootDevice::UefiHttp { url: Some(url) } => error.without(url),
        _ => error,
    })?;
    service.settle(&answer).await?;
    read_back(service, &answer.call, wanted).await
}

async fn read_back(service: &Service, call: &str, wanted: &Boot) -> Result<Boot> {
    let mut attempts = ReadBack::default();
    loop {
        let system = service.system().await?;
        let Some((what, wanted, found)) = difference(&system.body, wanted) else {
            let missing = || service.unsupported("reading the boot device", "the service does not show it");
            return stored(&system.body).ok_or_else(missing);
        };
        if !attempts.again().await {
            return Err(Error::NotStored { call: call.to_owned(), what: what.to_owned(), wanted, found });
        }
    }
}
