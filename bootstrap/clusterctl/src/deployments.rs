//! The Deployments of an installed provider.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use machinery::clock::Clock;
use serde_json::json;

use crate::built_in;
use crate::inventory::Installed;
use crate::{Context, Error, Result};

/// How often a Deployment is read while its Pods end.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long the Pods of a Deployment have for their end, as in clusterctl.
const END: Duration = Duration::from_secs(60);

/// Whether the controllers of a provider run in the process of the server: then there is nothing that could be upgraded or deleted.
///
/// # Errors
/// The cluster does not answer.
pub async fn is_in_process(client: &Client, provider: &Installed) -> Result<bool> {
    let built_in = built_in::providers(client).await?;
    let is_named = built_in.iter().any(|one| one.provider.label() == provider.label());
    Ok(is_named && of(client, provider).await?.is_empty())
}

/// The Deployments of a provider.
///
/// # Errors
/// The cluster does not answer.
pub(crate) async fn of(client: &Client, provider: &Installed) -> Result<Vec<Deployment>> {
    let found = api(client, provider).list(&provider.selected()).await;
    Ok(found.context(|| format!("failed to list Deployments for provider {}", provider.name))?.items)
}

/// Scales all Deployments of a provider to zero, and waits until their Pods have ended: webhooks of an old version must not be asked about
/// objects of a new one.
///
/// # Errors
/// The cluster refuses, or Pods still run after a minute.
pub(crate) async fn scale_down(client: &Client, provider: &Installed, clock: &Clock) -> Result<()> {
    for deployment in of(client, provider).await? {
        let name = deployment.name_any();
        let failed = || format!("failed to scale down Deployment/{name}");
        let none = Patch::Merge(json!({"spec": {"replicas": 0}}));
        let api = api(client, provider);
        api.patch(&name, &PatchParams::default(), &none).await.context(failed)?;
        let deadline = clock.now() + END;
        loop {
            let found = api.get(&name).await.context(failed)?;
            let left = found.status.and_then(|status| status.replicas).unwrap_or_default();
            if left == 0 {
                break;
            }
            if clock.now() >= deadline {
                return Err(Error::invalid(format!("Deployment still has {left} replicas"))).context(failed);
            }
            clock.sleep(INTERVAL).await;
        }
    }
    Ok(())
}

fn api(client: &Client, provider: &Installed) -> Api<Deployment> {
    Api::namespaced(client.clone(), &provider.namespace)
}
