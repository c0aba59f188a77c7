//! Boot from virtual media on services with their own extension for it.

use serde_json::{Value, json};

use super::http::Resource;
use super::links::paths;
use super::service::Redfish;
use super::vendor::Vendor;
use crate::{Boot, BootDevice, Error, Persistence, Result, limits};

/// iDRAC's attribute for the first boot device.
const DELL_DEVICE: &str = "ServerBoot.1.FirstBootDevice";
/// iDRAC's attribute for the duration of that selection.
const DELL_ONCE: &str = "ServerBoot.1.BootOnce";

impl Redfish {
    /// Selects virtual media by the service's extension; `None` if it has none, or if the standard property must be used.
    pub(super) async fn choose_by_extension(
        &self,
        system: &Resource,
        vendor: Vendor,
        wanted: &Boot,
    ) -> Result<Option<Boot>> {
        if wanted.device != BootDevice::VirtualMedia {
            return Ok(None);
        }
        match vendor {
            Vendor::Dell => self.choose_dell(system, wanted).await,
            Vendor::Hpe if wanted.persistence == Persistence::Once => self.choose_hpe(system, wanted).await,
            _ => Ok(None),
        }
    }

    /// iDRAC's standard boot override selects a physical drive, so its virtual drive is selected by an attribute (`DellAttributes` of
    /// the manager).
    async fn choose_dell(&self, system: &Resource, wanted: &Boot) -> Result<Option<Boot>> {
        let manager = self.read_manager(system).await?;
        let attributes =
            manager.body.pointer("/Links/Oem/Dell/DellAttributes").map(paths).unwrap_or_default();
        let Some(path) = attributes.into_iter().find(|path| path.contains("iDRAC.Embedded")) else {
            return Ok(None);
        };
        let once = if wanted.persistence == Persistence::Once { "Enabled" } else { "Disabled" };
        let body = json!({"Attributes": {DELL_DEVICE: "VCD-DVD", DELL_ONCE: once}});
        let resource = self.http.get(&path).await?;
        let holds = |body: &Value| body["Attributes"][DELL_DEVICE] == "VCD-DVD";
        self.write(&resource, &body, DELL_DEVICE, holds).await?;
        Ok(Some(Boot { mode: None, ..wanted.clone() }))
    }

    /// iLO boots once from the image if the virtual device has `BootOnNextServerReset`.
    async fn choose_hpe(&self, system: &Resource, wanted: &Boot) -> Result<Option<Boot>> {
        const ONCE: &str = "BootOnNextServerReset";
        let device = self.cd(system).await?;
        if !device.body["Oem"]["Hpe"][ONCE].is_boolean() {
            return Ok(None);
        }
        let holds = |body: &Value| body["Oem"]["Hpe"][ONCE] == true;
        self.write(&device, &json!({"Oem": {"Hpe": {ONCE: true}}}), ONCE, holds).await?;
        Ok(Some(Boot { mode: None, ..wanted.clone() }))
    }

    /// Writes the change, and reads it back until it `holds`.
    async fn write(
        &self,
        resource: &Resource,
        body: &Value,
        what: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Result<()> {
        let answer = self.http.patch(resource, body).await?;
        self.settle(&answer).await?;
        for _ in 0..limits::READ_BACK_ATTEMPTS {
            if holds(&self.http.get(&resource.path).await?.body) {
                return Ok(());
            }
            tokio::time::sleep(limits::READ_BACK_INTERVAL).await;
        }
        let (wanted, found) = ("as it was written".to_owned(), "as it was before".to_owned());
        Err(Error::NotStored { call: answer.call, what: what.to_owned(), wanted, found })
    }
}
