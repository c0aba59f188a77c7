//! Waits for the Deployment in the cluster.

use std::time::Duration;

use anyhow::{Result, bail};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use machinery::clock::Clock;
use server::installed::{NAME, NAMESPACE};

use super::until::until;

/// The time within which the Pod must be ready: a node pulls the image, and fetches the bundles.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// The interval at which the Deployment is read.
const PAUSE: Duration = Duration::from_secs(2);

/// Waits until the Deployment is available.
///
/// # Errors
/// It is not within [`LIMIT`]; the message says what its Pods wait for.
pub(super) async fn wait(client: &Client, clock: &Clock) -> Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    // An API server that restarts does not answer for a while.
    let is_ready = async || Ok(deployments.get(NAME).await.is_ok_and(|found| is_available(&found)));
    if until(LIMIT, PAUSE, clock, is_ready).await? {
        return Ok(());
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let pods = pods.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default();
    let reasons: Vec<String> = pods.iter().map(reason).collect();
    bail!(
        "deployment.apps/{NAME} in {NAMESPACE} is not available after {} minutes, and nothing has been moved. {}",
        LIMIT.as_secs() / 60,
        reasons.join("; ")
    )
}

/// Returns whether all replicas of the newest template are available.
fn is_available(deployment: &Deployment) -> bool {
    let status = deployment.status.clone().unwrap_or_default();
    let wanted = deployment.spec.replicas.unwrap_or(1);
    status.observed_generation == deployment.metadata.generation
        && status.updated_replicas == Some(wanted)
        && status.available_replicas.is_some_and(|available| available >= wanted)
}

/// Returns why a Pod is not ready.
fn reason(pod: &Pod) -> String {
    let status = pod.status.clone().unwrap_or_default();
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    let waits = containers.filter_map(|container: &ContainerStatus| {
        let waiting = container.state.as_ref()?.waiting.as_ref()?;
        let text = [waiting.reason.as_deref(), waiting.message.as_deref()].into_iter().flatten();
        Some(format!("{} waits: {}", container.name, text.collect::<Vec<_>>().join(": ")))
    });
    let conditions = status.conditions.iter().flatten().filter(|one| one.status == "False");
    let messages = conditions.filter_map(|condition| condition.message.clone());
    format!("Pod {}: {}", pod.name_any(), waits.chain(messages).collect::<Vec<_>>().join(", "))
}
