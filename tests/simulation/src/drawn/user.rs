//! The requests of the user of a simulation.

use anyhow::Result;
use http::header::CONTENT_TYPE;
use kube::Client;
use serde_json::{Value, json};

use crate::simulation::Life;

/// The user of a simulation.
pub struct User {
    client: Client,
}

impl User {
    /// Returns the user of this life.
    pub fn new(life: &Life) -> Self {
        Self { client: life.plane.client("user") }
    }

    /// Sends a request. An object that does not exist, or exists already, is no error.
    async fn send(&self, request: http::Request<Vec<u8>>) -> Result<()> {
        match self.client.request::<Value>(request).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes an object by a merge patch.
    ///
    /// # Errors
    /// The server refuses it.
    pub async fn patch(&self, path: &str, patch: &Value) -> Result<()> {
        let request = http::Request::patch(path).header(CONTENT_TYPE, "application/merge-patch+json");
        self.send(request.body(patch.to_string().into_bytes())?).await
    }

    /// Like [`User::patch`], but the server may say that the change is not valid. Returns whether it accepts it.
    ///
    /// # Errors
    /// The server refuses it for another reason.
    pub async fn try_patch(&self, path: &str, patch: &Value) -> Result<bool> {
        match self.patch(path, patch).await {
            Err(error) if is_invalid(&error) => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// The server refuses it.
    pub async fn delete(&self, path: &str) -> Result<()> {
        self.send(http::Request::delete(path).body(Vec::new())?).await
    }

    /// Creates an object in the collection of this path.
    ///
    /// # Errors
    /// The server refuses it.
    pub async fn create(&self, collection: &str, object: &Value) -> Result<()> {
        let request = http::Request::post(collection).header(CONTENT_TYPE, "application/json");
        self.send(request.body(object.to_string().into_bytes())?).await
    }

    /// Sets annotations of an object, or removes those whose value is null.
    ///
    /// # Errors
    /// The server refuses it.
    pub async fn annotate(&self, path: &str, annotations: Value) -> Result<()> {
        self.patch(path, &json!({"metadata": {"annotations": annotations}})).await
    }
}

fn is_invalid(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<kube::Error>(), Some(kube::Error::Api(status)) if status.code == 422)
}

/// Returns the path of an object from its key in the store: `/registry/GROUP/PLURAL/NAMESPACE/NAME`.
pub fn path_of(key: &str) -> String {
    let mut parts = key.split('/').skip(2);
    let mut next = || parts.next().unwrap_or_default();
    let (group, plural, namespace, name) = (next(), next(), next(), next());
    format!("/apis/{group}/v1beta2/namespaces/{namespace}/{plural}/{name}")
}
