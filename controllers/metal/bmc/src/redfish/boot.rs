//! The boot device selection: the property `Boot` of the system.

use http::Method;
use serde_json::{Map, Value, json};

use super::links::texts;
use super::service::Redfish;
use super::vendor::Vendor;
use crate::{Boot, BootDevice, BootMode, Error, Persistence, Result, limits};

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

/// Returns Redfish's names of a device, the preferred one first. Supermicro's virtual CD is a USB CD.
fn names(device: &BootDevice, vendor: Vendor) -> &'static [&'static str] {
    match device {
        BootDevice::Network => &["Pxe"],
        BootDevice::UefiHttp { .. } => &["UefiHttp"],
        BootDevice::Disk => &["Hdd"],
        BootDevice::VirtualMedia if vendor == Vendor::Supermicro => &["UsbCd", "Cd"],
        BootDevice::VirtualMedia => &["Cd", "UsbCd"],
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
    vendor: Vendor,
) -> Result<Value, String> {
    let current = &system["Boot"];
    let offered = texts(&current["BootSourceOverrideTarget@Redfish.AllowableValues"]);
    let fitting = names(&wanted.device, vendor);
    let target = match offered.is_empty() {
        true => fitting.first(),
        false => fitting.iter().find(|name| offered.iter().any(|offer| offer == *name)),
    };
    let target = target.ok_or_else(|| format!("the service offers only {}", offered.join(", ")))?;
    let mut boot = Map::new();
    boot.insert("BootSourceOverrideTarget".to_owned(), json!(target));
    // Some services refuse a value that is stored already; Supermicro's refuse requests that omit it.
    let mut differing = |property: &str, value: &str| {
        if current[property] != *value || vendor == Vendor::Supermicro {
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

impl Redfish {
    pub(super) async fn choose_boot(&self, wanted: &Boot) -> Result<Boot> {
        let system = self.read_system().await?;
        let vendor = self.vendor(&system).await?;
        if let Some(done) = self.choose_by_extension(&system, vendor, wanted).await? {
            return Ok(done);
        }
        let refused = |reason: String| self.unsupported(&wanted.device.to_string(), &reason);
        let patch = change(&system.body, wanted, wanted.persistence, vendor).map_err(refused)?;
        let mut answer = self.http.patch(&system, &patch).await;
        // The standard has removed persistent boot devices: services without them accept a device for a single start.
        if wanted.persistence == Persistence::Always
            && matches!(answer, Err(Error::Status { status: 400 | 405 | 422 | 500 | 501, .. }))
        {
            let once = change(&system.body, wanted, Persistence::Once, vendor).map_err(refused)?;
            answer = self.http.patch(&system, &once).await;
        }
        let answer = answer.map_err(|error| match &wanted.device {
            BootDevice::UefiHttp { url: Some(url) } => error.without(url),
            _ => error,
        })?;
        self.settle(&answer).await?;
        self.read_back_boot(&answer.call, wanted).await
    }

    async fn read_back_boot(&self, call: &str, wanted: &Boot) -> Result<Boot> {
        let mut attempt = 1;
        loop {
            let system = self.read_system().await?;
            let Some((what, wanted, found)) = difference(&system.body, wanted) else {
                let missing = || self.unsupported("reading the boot device", "the service does not show it");
                return stored(&system.body).ok_or_else(missing);
            };
            if attempt == limits::READ_BACK_ATTEMPTS {
                return Err(Error::NotStored { call: call.to_owned(), what: what.to_owned(), wanted, found });
            }
            attempt += 1;
            tokio::time::sleep(limits::READ_BACK_INTERVAL).await;
        }
    }

    pub(super) async fn read_secure_boot(&self) -> Result<bool> {
        let resource = self.secure_boot_resource().await?;
        resource.body["SecureBootEnable"].as_bool().ok_or_else(|| Error::Answer {
            call: self.http.call(&Method::GET, &resource.path),
            reason: "SecureBootEnable is missing".to_owned(),
        })
    }

    pub(super) async fn change_secure_boot(&self, on: bool) -> Result<()> {
        let resource = self.secure_boot_resource().await?;
        if resource.body["SecureBootEnable"] == on {
            return Ok(());
        }
        let answer = self.http.patch(&resource, &json!({"SecureBootEnable": on})).await?;
        self.settle(&answer).await?;
        let mut attempt = 1;
        loop {
            let found = self.read_secure_boot().await?;
            if found == on {
                return Ok(());
            }
            if attempt == limits::READ_BACK_ATTEMPTS {
                let what = "SecureBootEnable".to_owned();
                let (wanted, found) = (on.to_string(), found.to_string());
                return Err(Error::NotStored { call: answer.call, what, wanted, found });
            }
            attempt += 1;
            tokio::time::sleep(limits::READ_BACK_INTERVAL).await;
        }
    }

    async fn secure_boot_resource(&self) -> Result<super::http::Resource> {
        let system = self.read_system().await?;
        let path = super::links::link(&system.body, "/SecureBoot");
        let path =
            path.ok_or_else(|| self.unsupported("Secure Boot", "the system has no SecureBoot resource"))?;
        self.http.get(&path).await
    }
}
