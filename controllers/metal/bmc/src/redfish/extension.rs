//! Boot from virtual media on services with their own extension for it.

use serde_json::{Value, json};

use super::http::Resource;
use super::links::paths;
use super::media::Cd;
use super::service::Service;
use super::tasks::ReadBack;
use super::vendor::MediaBoot;
use crate::{Boot, BootDevice, Error, Persistence, Result};

/// iDRAC's attribute for the first boot device.
const DELL_DEVICE: &str = "ServerBoot.1.FirstBootDevice";
/// iDRAC's attribute for the duration of that selection.
const DELL_ONCE: &str = "ServerBoot.1.BootOnce";
/// The property of iLO's virtual drive from which the next start boots.
const HPE_ONCE: &str = "BootOnNextServerReset";

/// Selects virtual media by the service's extension; `None` if it has none, or if the standard property must be used.
pub(super) async fn choose(
    service: &Service,
    system: &Resource,
    way: MediaBoot,
    wanted: &Boot,
) -> Result<Option<Boot>> {
    if wanted.device != BootDevice::VirtualMedia {
        return Ok(None);
    }
    let is_chosen = match way {
        MediaBoot::Standard => false,
        MediaBoot::DellAttributes => choose_dell(service, system, wanted.persistence).await?,
        MediaBoot::HpeDrive => wanted.persistence == Persistence::Once && choose_hpe(service, system).await?,
    };
    Ok(is_chosen.then(|| Boot { mode: None, ..wanted.clone() }))
}

/// Selects iDRAC's virtual drive by attributes of the manager (`DellAttributes`), if it has them.
async fn choose_dell(service: &Service, system: &Resource, persistence: Persistence) -> Result<bool> {
    let manager = service.manager(system).await?;
    let attributes = manager.body.pointer("/Links/Oem/Dell/DellAttributes").map(paths).unwrap_or_default();
    let Some(path) = attributes.into_iter().find(|path| path.contains("iDRAC.Embedded")) else {
        return Ok(false);
    };
    let once = if persistence == Persistence::Once { "Enabled" } else { "Disabled" };
    let body = json!({"Attributes": {DELL_DEVICE: "VCD-DVD", DELL_ONCE: once}});
    let resource = service.get(&path).await?;
    let holds = |body: &Value| body["Attributes"][DELL_DEVICE] == "VCD-DVD";
    write(service, &resource, &body, DELL_DEVICE, holds).await?;
    Ok(true)
}

/// Makes iLO boot once from the image, if its virtual drive has the property.
async fn choose_hpe(service: &Service, system: &Resource) -> Result<bool> {
    let cd = Cd::of(service, system).await?;
    if !cd.device().body["Oem"]["Hpe"][HPE_ONCE].is_boolean() {
        return Ok(false);
    }
    let holds = |body: &Value| body["Oem"]["Hpe"][HPE_ONCE] == true;
    write(service, cd.device(), &json!({"Oem": {"Hpe": {HPE_ONCE: true}}}), HPE_ONCE, holds).await?;
    Ok(true)
}

/// Writes the change, and reads it back until it `holds`.
async fn write(
    service: &Service,
    resource: &Resource,
    body: &Value,
    what: &str,
    holds: impl Fn(&Value) -> bool,
) -> Result<()> {
    let answer = service.patch(resource, body).await?;
    service.settle(&answer).await?;
    let mut attempts = ReadBack::default();
    while !holds(&service.get(&resource.path).await?.body) {
        if !attempts.again().await {
            let (wanted, found) = ("as it was written".to_owned(), "as it was before".to_owned());
            return Err(Error::NotStored { call: answer.call, what: what.to_owned(), wanted, found });
        }
    }
    Ok(())
}
