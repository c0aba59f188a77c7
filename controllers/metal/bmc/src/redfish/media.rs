//! Virtual media: the collection `VirtualMedia` of the system or of its manager.

use http::Method;
use serde_json::{Value, json};

use super::http::{Answer, Resource};
use super::links::link;
use super::message::names;
use super::service::Service;
use super::tasks::ReadBack;
use crate::{Error, Result};

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

/// The virtual CD of a machine.
pub(super) struct Cd<'a> {
    service: &'a Service,
    device: Resource,
}

impl<'a> Cd<'a> {
    /// Finds the first device of the system, or of its manager, that accepts a CD image.
    pub(super) async fn of(service: &'a Service, system: &Resource) -> Result<Self> {
        let mut found = Vec::new();
        if let Some(collection) = link(&system.body, "/VirtualMedia") {
            found = service.members(&collection).await?;
        }
        if !found.iter().any(|device| is_cd(&device.body)) {
            let manager = service.manager(system).await?;
            if let Some(collection) = link(&manager.body, "/VirtualMedia") {
                found = service.members(&collection).await?;
            }
        }
        let cd = found.into_iter().find(|device| is_cd(&device.body));
        let reason =
            "the service has no virtual CD; a licence may be missing (iLO Advanced, iDRAC Enterprise)";
        let device = cd.ok_or_else(|| service.unsupported("virtual media", reason))?;
        Ok(Self { service, device })
    }

    /// Returns the device as it was read.
    pub(super) fn device(&self) -> &Resource {
        &self.device
    }

    /// Returns the URL of the inserted image, see [`image`].
    pub(super) fn image(&self) -> Option<String> {
        image(&self.device.body)
    }

    /// Inserts an image, and replaces an inserted one.
    pub(super) async fn insert(&mut self, url: &str) -> Result<()> {
        self.insert_image(url).await.map_err(|error| error.without(url))
    }

    async fn insert_image(&mut self, url: &str) -> Result<()> {
        if self.image().is_some() {
            self.eject().await?;
            self.device = self.service.get(&self.device.path).await?;
        }
        let answer = match action(&self.device.body, "InsertMedia", "InsertVirtualMedia") {
            Some(target) => self.insert_by_action(&target, url).await?,
            // Without the action, the image is set as a property, and `Inserted` must be set too.
            None => {
                let body = json!({"Image": url, "Inserted": true, "WriteProtected": true});
                self.service.patch(&self.device, &body).await?
            }
        };
        self.service.settle(&answer).await?;
        self.read_back(&answer, true).await
    }

    /// Calls the action with the fewest parameters, and adds others only if the service names them in an error: some services refuse
    /// the optional parameters, and others require them.
    async fn insert_by_action(&self, target: &str, url: &str) -> Result<Answer> {
        let mut body = json!({"Image": url});
        let protocol = if url.starts_with("https:") { "HTTPS" } else { "HTTP" };
        let mut more = vec![("TransferMethod", "Stream"), ("TransferProtocolType", protocol)];
        loop {
            let answer = self.service.send(Method::POST, target, Some(&body)).await;
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

    /// Ejects the image; does nothing if there is none.
    pub(super) async fn eject(&self) -> Result<()> {
        let Some(held) = self.image() else { return Ok(()) };
        let answer = match action(&self.device.body, "EjectMedia", "EjectVirtualMedia") {
            Some(target) => self.service.send(Method::POST, &target, Some(&json!({}))).await,
            None => self.service.patch(&self.device, &json!({"Image": null, "Inserted": false})).await,
        };
        let answer = if held.is_empty() { answer? } else { answer.map_err(|error| error.without(&held))? };
        self.service.settle(&answer).await?;
        self.read_back(&answer, false).await
    }

    /// Waits until an image is inserted, or none. Its URL is not compared, because some services do not show it, or only a part of it.
    async fn read_back(&self, answer: &Answer, wanted: bool) -> Result<()> {
        let mut attempts = ReadBack::default();
        loop {
            let found = image(&self.service.get(&self.device.path).await?.body).is_some();
            if found == wanted {
                return Ok(());
            }
            if !attempts.again().await {
                let word = |inserted: bool| if inserted { "loaded" } else { "empty" }.to_owned();
                return Err(Error::NotStored {
                    call: answer.call.clone(),
                    what: "the virtual CD".to_owned(),
                    wanted: word(wanted),
                    found: word(found),
                });
            }
        }
    }
}
