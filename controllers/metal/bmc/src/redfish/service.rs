//! The Redfish service of a machine: its root, its system, its manager, and the requests that all others are made of.

use std::sync::Arc;

use ::http::Method;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::http::{Answer, Http, Resource};
use super::links::{link, members, paths};
use super::vendor::Quirks;
use crate::network::Network;
use crate::{BmcAddress, Credentials, Error, Result, Verification, limits};

/// The service root.
const ROOT: &str = "/redfish/v1";

/// A Redfish service. What is read once, and how requests are authenticated and repeated, only this type knows.
pub(super) struct Service {
    http: Http,
    /// The path of the system in the address; without one, the only system of the service is used.
    path: Option<String>,
    root: OnceCell<Value>,
    system: OnceCell<String>,
}

impl Service {
    pub(super) fn new(
        address: BmcAddress,
        credentials: Credentials,
        verification: &Verification,
        network: Arc<dyn Network>,
    ) -> Result<Self> {
        let http = Http::new(&address, credentials, verification, network)?;
        Ok(Self { http, path: address.system, root: OnceCell::new(), system: OnceCell::new() })
    }

    /// Reads a resource.
    pub(super) async fn get(&self, path: &str) -> Result<Resource> {
        self.http.get(path).await
    }

    /// Sends a request that changes the service; it is not repeated.
    pub(super) async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer> {
        self.http.send(method, path, body).await
    }

    /// Changes a resource, unless somebody else has changed it since it was read.
    pub(super) async fn patch(&self, resource: &Resource, body: &Value) -> Result<Answer> {
        self.http.patch(resource, body).await
    }

    /// Returns the path of a URL of this service; `None` if the URL belongs to another one.
    pub(super) fn path_of(&self, address: &str) -> Option<String> {
        self.http.path_of(address)
    }

    /// Returns the name of the request that reads a resource, for error messages.
    pub(super) fn call(&self, path: &str) -> String {
        self.http.call(&Method::GET, path)
    }

    /// Ends the session, if there is one.
    pub(super) async fn close(&self) {
        self.http.close().await;
    }

    /// Returns the service root, which is read only once.
    pub(super) async fn root(&self) -> Result<&Value> {
        self.root.get_or_try_init(|| async { Ok(self.http.get(ROOT).await?.body) }).await
    }

    /// Returns the path of the system: the address's, or that of the only system.
    async fn system_path(&self) -> Result<&str> {
        let find = || async {
            if let Some(path) = &self.path {
                return Ok(path.clone());
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
                    Err(Error::System { call: self.call(&collection), reason })
                }
            }
        };
        self.system.get_or_try_init(find).await.map(String::as_str)
    }

    /// Reads the system.
    pub(super) async fn system(&self) -> Result<Resource> {
        self.http.get(self.system_path().await?).await
    }

    /// Reads the manager of the system, which is the controller itself.
    pub(super) async fn manager(&self, system: &Resource) -> Result<Resource> {
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

    /// Returns how the service deviates from the standard.
    pub(super) async fn quirks(&self, system: &Resource) -> Result<&'static Quirks> {
        Ok(Quirks::of(self.root().await?, &system.body))
    }

    /// Reads the members of a collection one after the other.
    pub(super) async fn members(&self, collection: &str) -> Result<Vec<Resource>> {
        let mut found = Vec::new();
        for path in members(&self.http.get(collection).await?.body).iter().take(limits::MEMBERS_MAX) {
            found.push(self.http.get(path).await?);
        }
        Ok(found)
    }

    /// Returns the error for something that the service lacks.
    pub(super) fn unsupported(&self, what: &str, reason: &str) -> Error {
        let (call, what, reason) = (self.http.origin().to_owned(), what.to_owned(), reason.to_owned());
        Error::Unsupported { call, what, reason }
    }
}
