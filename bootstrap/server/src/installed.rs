//! This program's controllers in a cluster, where `firstlight pivot --install` has installed them.

use anyhow::{Context as _, Result};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{Api, Client};

/// The namespace of the controllers.
pub const NAMESPACE: &str = "firstlight-system";
/// The name of all objects of the controllers.
pub const NAME: &str = "firstlight-controllers";

/// Returns the image of this program's Deployment in the cluster, if it was installed there.
///
/// # Errors
/// The cluster cannot be asked.
pub async fn image(client: &Client) -> Result<Option<String>> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let found = deployments.get_opt(NAME).await;
    let found = found.with_context(|| format!("cannot read Deployment {NAMESPACE}/{NAME}"))?;
    let pod = found.and_then(|found| found.spec.template.spec);
    Ok(pod.and_then(|pod| pod.containers.into_iter().next()?.image))
}
