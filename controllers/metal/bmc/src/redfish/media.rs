//! Virtual media: the collection `VirtualMedia` of the system or of its manager.

use http::Method;
use serde_json::{Value, json};

use super::http::{Answer, Resource};
use super::links::link;
use super::message::names;
use super::service::Redfish;
use crate::{Error, Result, limits};

/// Returns whether a device accepts a CD image.
pub fn is_cd(device: &Value) -> bool {
    let kinds = device["MediaTypes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    kinds.into_iter().any(|kind| kind.eq_ignore_ascii_case("CD") || kind.eq_ignore_ascii_case("DVD"))
}

/// Returns the URL of the inserted image: `None` if none is inserted, an empty string if the service does not show the URL.
pub fn image(device: &Value) -> Option<String> {
    let image = device["Image"].as_str().unwrap_or_default().to_owned();
    let inserted = match device["Inserted"].as_bool() {
        Some(inserted) => inserted,
        None => !image.is_empty() && device["ConnectedVia"] != "NotConnected",
    };
    inserted.then_some(image)
}

/// Returns the path of an action of a device, either the standard's or iLO's.
pub fn action(device: &Value, name: &str, hpe: &str) -> Option<String> {
    let standard = &device["Actions"][format!("#VirtualMedia.{name}")];
    let extension = &device["Oem"]["Hpe"]["Actions"][format!("#HpeiLOVirtualMedia.{hpe}")];
    standard["target"].as_str().or(extension["target"].as_str()).map(str::to_owned)
}

impl Redfish {
    /// Returns the first device that accepts a CD image.
    pub(super) async fn cd(&self, system: &Resource) -> Result<Resource> {
        let mut found = Vec::new();
        if let Some(collection) = link(&system.body, "/VirtualMedia") {
            found = self.read_members(&collection).await?;
        }
        if !found.iter().any(|device| is_cd(&device.body)) {
            let manager = self.read_manager(system).await?;
            if let Some(collection) = link(&manager.body, "/VirtualMedia") {
                found = self.read_members(&collection).await?;
            }
        }
        let cd = found.into_iter().find(|device| is_cd(&device.body));
        let reason =
            "the service has no virtual CD; a licence may be missing (iLO Advanced, iDRAC Enterprise)";
        cd.ok_or_else(|| self.unsupported("virtual media", reason))
    }

    pub(super) async fn inserted(&self) -> Result<Option<String>> {
        let system = self.read_system().await?;
        Ok(image(&self.cd(&system).await?.body))
    }

    pub(super) async fn insert(&self, url: &str) -> Result<()> {
        self.insert_image(url).await.map_err(|error| error.without(url))
    }

    async fn insert_image(&self, url: &str) -> Result<()> {
        let system = self.read_system().await?;
        let mut device = self.cd(&system).await?;
        if image(&device.body).is_some() {
            self.eject_from(&device).await?;
            device = self.http.get(&device.path).await?;
        }
        let answer = match action(&device.body, "InsertMedia", "InsertVirtualMedia") {
            Some(target) => self.insert_by_action(&target, url).await?,
            // Without the action, the image is set as a property, and `Inserted` must be set too.
            None => {
                let body = json!({"Image": url, "Inserted": true, "WriteProtected": true});
                self.http.patch(&device, &body).await?
            }
        };
        self.settle(&answer).await?;
        self.read_back_media(&answer, &device.path, Some(url)).await
    }

    /// Calls the action with the fewest parameters, and adds others only if the service names them in an error: some services refuse
    /// the optional parameters, and others require them.
    async fn insert_by_action(&self, target: &str, url: &str) -> Result<Answer> {
        let mut body = json!({"Image": url});
        let protocol = if url.starts_with("https:") { "HTTPS" } else { "HTTP" };
        let mut more = vec![("TransferMethod", "Stream"), ("TransferProtocolType", protocol)];
        loop {
            let answer = self.http.send(Method::POST, target, Some(&body)).await;
            let Err(Error::Status { status: 400..=499, message, .. }) = &answer else {
                return answer;
            };
            let message = json!(message);
            let Some(place) = more.iter().position(|(name, _)| names(&message, name)) else {
                return answer;
            };
            let (name, value) = more.remove(place);
            body[name] = json!(value);
        }
    }

    pub(super) async fn eject(&self) -> Result<()> {
        let system = self.read_system().await?;
        let device = self.cd(&system).await?;
        if image(&device.body).is_none() {
            return Ok(());
        }
        self.eject_from(&device).await
    }

    async fn eject_from(&self, device: &Resource) -> Result<()> {
        let answer = match action(&device.body, "EjectMedia", "EjectVirtualMedia") {
            Some(target) => self.http.send(Method::POST, &target, Some(&json!({}))).await,
            None => self.http.patch(device, &json!({"Image": null, "Inserted": false})).await,
        };
        let answer = match image(&device.body) {
            Some(held) if !held.is_empty() => answer.map_err(|error| error.without(&held))?,
            _ => answer?,
        };
        self.settle(&answer).await?;
        self.read_back_media(&answer, &device.path, None).await
    }

    async fn read_back_media(&self, answer: &Answer, path: &str, wanted: Option<&str>) -> Result<()> {
        let mut attempt = 1;
        loop {
            let found = image(&self.http.get(path).await?.body);
            // The URL is not compared, because some services do not show it, or only a part of it.
            if found.is_some() == wanted.is_some() {
                return Ok(());
            }
            if attempt == limits::READ_BACK_ATTEMPTS {
                let word = |inserted: bool| if inserted { "loaded" } else { "empty" }.to_owned();
                return Err(Error::NotStored {
                    call: answer.call.clone(),
                    what: "the virtual CD".to_owned(),
                    wanted: word(wanted.is_some()),
                    found: word(found.is_some()),
                });
            }
            attempt += 1;
            tokio::time::sleep(limits::READ_BACK_INTERVAL).await;
        }
    }
}
