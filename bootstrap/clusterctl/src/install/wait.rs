//! Waits until providers run.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ListParams};

use super::tools::Tools;
use crate::components::Components;
use crate::{Context, Error, Result};

/// How often Deployments are read; clusterctl does the same.
const INTERVAL: Duration = Duration::from_millis(100);
/// The container by which clusterctl recognises the Deployment of a provider.
const MANAGER: &str = "manager";

/// Waits until all Deployments with a container `manager` are available.
///
/// # Errors
/// One is not available within `limit`; the message names it with the reason.
pub(crate) async fn until_available(all: &[Components], limit: Duration, tools: &Tools<'_>) -> Result<()> {
    for components in all {
        let label = components.provider.label();
        (tools.say)(&format!("Waiting for the provider {label} to be available"));
        let deployments: Api<Deployment> = Api::namespaced(tools.client.clone(), &components.namespace);
        let selected = ListParams::default().labels(&format!("cluster.x-k8s.io/provider={label}"));
        let deadline = tools.clock.now() + limit;
        loop {
            let found = deployments.list(&selected).await;
            let found = found.context(|| format!("failed to read the Deployments of {label}"))?;
            let Some(waiting) = found.items.iter().find(|one| is_manager(one) && !is_available(one)) else {
                break;
            };
            if tools.clock.now() >= deadline {
                let name = waiting.metadata.name.clone().unwrap_or_default();
                return Err(Error::invalid(format!(
                    "the Deployment {}/{name} of {label} is not available after {} s; look at its Pods with kubectl describe",
                    components.namespace,
                    limit.as_secs()
                )));
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
    Ok(())
}

fn is_manager(deployment: &Deployment) -> bool {
    let spec = deployment.spec.template.spec.as_ref();
    spec.is_some_and(|spec| spec.containers.iter().any(|container| container.name == MANAGER))
}

/// Returns whether a Deployment is available as it was last changed.
pub fn is_available(deployment: &Deployment) -> bool {
    let Some(status) = &deployment.status else { return false };
    status.observed_generation >= deployment.metadata.generation
        && status.conditions.iter().flatten().any(|condition| {
            condition.type_.as_deref() == Some("Available") && condition.status.as_deref() == Some("True")
        })
}
