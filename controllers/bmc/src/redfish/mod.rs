//! Redfish (DMTF DSP0266), with the deviations of services of Dell, HPE and Supermicro.

mod bios;
mod boot;
mod connection;
mod events;
mod extension;
mod firmware;
mod http;
mod inventory;
mod media;
mod message;
mod power;
mod tasks;
mod vendor;

use std::collections::BTreeMap;
use std::sync::Arc;

use ::http::Method;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::OnceCell;

use self::http::{Http, Resource};
use self::vendor::Vendor;
use crate::client::Bmc;
use crate::network::Network;
use crate::{
    Boot, Credentials, Error, FirmwareComponent, Identity, Power, PowerAction, Result, Setting, Settings,
    Subscribed, Subscription, Target, Task, TaskState, Verification, limits,
};

/// The service root.
const ROOT: &str = "/redfish/v1";

/// The client of a Redfish service.
pub(crate) struct Redfish {
    http: Http,
    /// The path of the system in the target; if empty, the only system of the service is used.
    path: String,
    root: OnceCell<Value>,
    system: OnceCell<String>,
}

impl Redfish {
    pub(crate) fn new(
        target: Target,
        credentials: Credentials,
        verification: &Verification,
        network: Arc<dyn Network>,
    ) -> Result<Self> {
        let path = target.path.trim_end_matches('/');
        let path = if path == ROOT { String::new() } else { path.to_owned() };
        let http = Http::new(&target, credentials, verification, network)?;
        Ok(Self { http, path, root: OnceCell::new(), system: OnceCell::new() })
    }

    /// Returns the service root, which is read only once.
    async fn root(&self) -> Result<&Value> {
        self.root.get_or_try_init(|| async { Ok(self.http.get(ROOT).await?.body) }).await
    }

    /// Returns the path of the system: the target's, or that of the only system.
    async fn system_path(&self) -> Result<&str> {
        let find = || async {
            if !self.path.is_empty() {
                return Ok(self.path.clone());
            }
            let collection =
                link(self.root().await?, "/Systems").unwrap_or_else(|| format!("{ROOT}/Systems"));
            let members = members(&self.http.get(&collection).await?.body);
            match members.as_slice() {
                [only] => Ok(only.clone()),
                several => {
                    let reason = match several {
                        [] => "the service has no system".to_owned(),
                        several => format!("the service has several systems: {}", several.join(", ")),
                    };
                    Err(Error::System { call: self.http.call(&Method::GET, &collection), reason })
                }
            }
        };
        self.system.get_or_try_init(find).await.map(String::as_str)
    }

    async fn read_system(&self) -> Result<Resource> {
        self.http.get(self.system_path().await?).await
    }

    /// Reads the manager of the system, which is the controller itself.
    async fn read_manager(&self, system: &Resource) -> Result<Resource> {
        let managers = system.body.pointer("/Links/ManagedBy").map(paths).unwrap_or_default();
        let path = match managers.first() {
            Some(path) => path.clone(),
            None => {
                let collection =
                    link(self.root().await?, "/Managers").unwrap_or_else(|| format!("{ROOT}/Managers"));
                let found = members(&self.http.get(&collection).await?.body);
                found
                    .into_iter()
                    .next()
                    .ok_or_else(|| self.unsupported("this", "the service has no manager"))?
            }
        };
        self.http.get(&path).await
    }

    async fn vendor(&self, system: &Resource) -> Result<Vendor> {
        Ok(Vendor::of(self.root().await?, &system.body))
    }

    /// Reads the members of a collection one after the other.
    async fn read_members(&self, collection: &str) -> Result<Vec<Resource>> {
        let mut found = Vec::new();
        for path in members(&self.http.get(collection).await?.body).iter().take(limits::MEMBERS_MAX) {
            found.push(self.http.get(path).await?);
        }
        Ok(found)
    }

    fn unsupported(&self, what: &str, reason: &str) -> Error {
        let (call, what, reason) = (self.http.origin().to_owned(), what.to_owned(), reason.to_owned());
        Error::Unsupported { call, what, reason }
    }
}

/// Returns the path of the link at `pointer`.
fn link(body: &Value, pointer: &str) -> Option<String> {
    body.pointer(pointer)?["@odata.id"].as_str().filter(|path| path.starts_with('/')).map(str::to_owned)
}

/// Returns the paths of a list of links.
fn paths(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|entry| link(entry, "")).collect()
}

/// Returns the paths of a collection's members.
fn members(collection: &Value) -> Vec<String> {
    paths(&collection["Members"])
}

/// Returns the strings of a list.
fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|entry| entry.as_str().map(str::to_owned)).collect()
}

/// Returns the string at `pointer`, or an empty one.
fn text(body: &Value, pointer: &str) -> String {
    body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
}

impl Bmc for Redfish {
    fn power(&self) -> BoxFuture<'_, Result<Power>> {
        Box::pin(async { Ok(power::power(&self.read_system().await?.body)) })
    }

    fn set_power(&self, action: PowerAction) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.reset(action))
    }

    fn boot(&self) -> BoxFuture<'_, Result<Option<Boot>>> {
        Box::pin(async { Ok(boot::stored(&self.read_system().await?.body)) })
    }

    fn set_boot<'a>(&'a self, boot: &'a Boot) -> BoxFuture<'a, Result<Boot>> {
        Box::pin(self.choose_boot(boot))
    }

    fn insert_media<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.insert(url))
    }

    fn eject_media(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.eject())
    }

    fn media(&self) -> BoxFuture<'_, Result<Option<String>>> {
        Box::pin(self.inserted())
    }

    fn identity(&self) -> BoxFuture<'_, Result<Identity>> {
        Box::pin(self.read_identity())
    }

    fn secure_boot(&self) -> BoxFuture<'_, Result<bool>> {
        Box::pin(self.read_secure_boot())
    }

    fn set_secure_boot(&self, on: bool) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.change_secure_boot(on))
    }

    fn settings(&self) -> BoxFuture<'_, Result<Settings>> {
        Box::pin(self.read_settings())
    }

    fn set_settings<'a>(&'a self, settings: &'a BTreeMap<String, Setting>) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.change_settings(settings))
    }

    fn firmware(&self) -> BoxFuture<'_, Result<Vec<FirmwareComponent>>> {
        Box::pin(self.read_firmware())
    }

    fn update_firmware<'a>(&'a self, component: &'a str, url: &'a str) -> BoxFuture<'a, Result<Task>> {
        Box::pin(self.install(component, url))
    }

    fn task<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<TaskState>> {
        Box::pin(self.look_at(task))
    }

    fn subscriptions(&self) -> BoxFuture<'_, Result<Vec<Subscribed>>> {
        Box::pin(self.read_subscriptions())
    }

    fn subscribe<'a>(&'a self, subscription: &'a Subscription) -> BoxFuture<'a, Result<String>> {
        Box::pin(self.start_events(subscription))
    }

    fn unsubscribe<'a>(&'a self, identifier: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.end_events(identifier))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.http.close())
    }
}
