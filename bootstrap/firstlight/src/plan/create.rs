//! Creates objects in the simulated server.

use anyhow::{Context as _, Result};
use machinery::meta::name;
use serde_json::Value;

/// Creates an object, unless it exists.
///
/// # Errors
/// The simulated server refuses it.
pub(super) async fn create(client: &kube::Client, path: &str, object: &Value) -> Result<()> {
    let request = http::Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(object.to_string().into_bytes())?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot create {} at {path}", name(object))),
    }
}
