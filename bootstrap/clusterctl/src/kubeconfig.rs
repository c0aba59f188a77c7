//! The output of `get kubeconfig`.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;

use crate::connection::Connection;
use crate::{Context, Error, Result, inventory};

/// The kubeconfig of a cluster: the value in its Secret `NAME-kubeconfig`.
///
/// # Errors
/// The Secret does not exist or has no value.
pub async fn of(connection: &Connection, namespace: Option<&str>, cluster: &str) -> Result<String> {
    inventory::check(&connection.client).await?;
    let namespace = namespace.unwrap_or(&connection.namespace);
    let failed = || format!("\"{cluster}-kubeconfig\" not found in namespace {namespace:?}");
    let secrets: Api<Secret> = Api::namespaced(connection.client.clone(), namespace);
    let secret = secrets.get(&format!("{cluster}-kubeconfig")).await.context(failed)?;
    let value = secret.data.unwrap_or_default().remove("value");
    let value =
        value.ok_or_else(|| Error::invalid("missing key \"value\" in secret data")).context(failed)?;
    Ok(String::from_utf8_lossy(&value.0).into_owned())
}
