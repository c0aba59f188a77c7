//! The Redfish service of a machine: reads its root, its system and its manager.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::http::Method;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::http::{Http, Resource};
use super::links::{link, members, paths};
use super::vendor::Vendor;
use crate::network::Network;
use crate::{Credentials, Error, Result, SettingLimits, Target, Verification, limits};

/// The service root.
const ROOT: &str = "/redfish/v1";

/// The client of a Redfish service.
pub(crate) struct Redfish {
    pub(super) http: Http,
    /// The path of the system in the target; if empty, the only system of the service is used.
    path: String,
    root: OnceCell<Value>,
    system: OnceCell<String>,
    /// The constraints of the firmware's settings, with the name of the registry that they are from.
    pub(super) limits: Mutex<(String, BTreeMap<String, SettingLimits>)>,
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
        Ok(Self { http, path, root: OnceCell::new(), system: OnceCell::new(), limits: Mutex::default() })
    }

    /// Returns the service root, which is read only once.
    pub(super) async fn root(&self) -> Result<&Value> {
        self.root.get_or_try_init(|| async { Ok(self.http.get(ROOT).await?.body) }).await
    }

    /// Returns the path of the system: the target's, or that of the only system.
    pub(super) async fn system_path(&self) -> Result<&str> {
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

    pub(super) async fn read_system(&self) -> Result<Resource> {
        self.http.get(self.system_path().await?).await
    }

    /// Reads the manager of the system, which is the controller itself.
    pub(super) async fn read_manager(&self, system: &Resource) -> Result<Resource> {
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

    pub(super) async fn vendor(&self, system: &Resource) -> Result<Vendor> {
        Ok(Vendor::of(self.root().await?, &system.body))
    }

    /// Reads the members of a collection one after the other.
    pub(super) async fn read_members(&self, collection: &str) -> Result<Vec<Resource>> {
        let mut found = Vec::new();
        for path in members(&self.http.get(collection).await?.body).iter().take(limits::MEMBERS_MAX) {
            found.push(self.http.get(path).await?);
        }
        Ok(found)
    }

    pub(super) fn unsupported(&self, what: &str, reason: &str) -> Error {
        let (call, what, reason) = (self.http.origin().to_owned(), what.to_owned(), reason.to_owned());
        Error::Unsupported { call, what, reason }
    }
}
