//! Whether a provider runs: what its Deployments report.

use clusterctl::install::is_available;
use engine::conditions::{is_false, new};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition};
use kube::ResourceExt;
use schemas::meta::Condition;

use crate::conditions::{AVAILABLE, NO_AVAILABLE_CONDITION, NO_DEPLOYMENT, READY};

/// Returns the condition `Ready` of a provider with these Deployments.
pub fn ready(deployments: &[Deployment]) -> Condition {
    if deployments.is_empty() {
        return new(READY, "True", NO_DEPLOYMENT, "the components have no Deployment");
    }
    let Some(waiting) = deployments.iter().find(|one| !is_available(one)) else {
        return new(READY, "True", AVAILABLE, "");
    };
    let name = waiting.name_any();
    match available(waiting).filter(|condition| condition.status.as_deref() != Some("True")) {
        Some(condition) => {
            let reason = condition.reason.as_deref().filter(|reason| !reason.is_empty());
            let message = condition.message.as_deref().unwrap_or_default();
            is_false(
                READY,
                reason.unwrap_or(NO_AVAILABLE_CONDITION),
                format!("Deployment {name} is not available: {message}"),
            )
        }
        None => is_false(READY, NO_AVAILABLE_CONDITION, format!("Deployment {name} is not available yet")),
    }
}

fn available(deployment: &Deployment) -> Option<&DeploymentCondition> {
    let mut conditions = deployment.status.as_ref()?.conditions.iter().flatten();
    conditions.find(|condition| condition.type_.as_deref() == Some("Available"))
}

/// Returns the names and generations of Deployments, to see later that somebody has changed or deleted one.
pub fn generations(deployments: &[Deployment]) -> String {
    let mut all: Vec<String> = deployments
        .iter()
        .map(|one| format!("{}={}", one.name_any(), one.metadata.generation.unwrap_or_default()))
        .collect();
    all.sort();
    all.join(",")
}
