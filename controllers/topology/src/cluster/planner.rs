//! The extension that plans the upgrades of a class's Clusters.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use engine::{Error, Result};
use schemas::version::Version;
use serde_json::json;

use super::hooks;
use super::memory::OfCluster;
use super::observed::Observed;
use super::plan;
use crate::extensions::{Extensions, Hook};
use crate::versions::{Facts, UpgradePlan};

/// Asks the extension of the class for the plan of an upgrade, if the class names one and there is something to upgrade.
pub async fn ask(
    extensions: &dyn Extensions,
    observed: &Observed,
    facts: &Facts,
    memory: &OfCluster,
    now: DateTime<Utc>,
) -> Result<Option<UpgradePlan>> {
    let (Some(name), Some(control_plane)) = (plan::planner(observed), &facts.control_plane) else {
        return Ok(None);
    };
    let lowest = facts.lowest_workers.as_deref();
    let canonical = |version: &str| Version::parse(version).map(|version| version.to_string());
    let is_wanted = |version: &str| canonical(version) == canonical(&facts.wanted);
    if is_wanted(&control_plane.version) && lowest.is_none_or(is_wanted) {
        return Ok(None);
    }
    if !observed.calls_hooks {
        return Err(Error::failed(format!(
            "the class wants the extension {name} to plan upgrades, but the feature gate RuntimeSDK is off"
        )));
    }
    let namespace = observed.current.cluster.metadata.namespace.as_deref().unwrap_or_default();
    let asked = json!({
        "fromControlPlaneKubernetesVersion": control_plane.version,
        "fromWorkersKubernetesVersion": lowest.unwrap_or_default(),
        "toKubernetesVersion": facts.wanted,
    });
    if let Some(plan) = memory.planned(&asked, now) {
        return Ok(Some(plan));
    }
    let request = hooks::request(Hook::GenerateUpgradePlan, &observed.current.cluster, asked.clone());
    let settings = BTreeMap::new();
    let answer = extensions.call(Hook::GenerateUpgradePlan, name, namespace, &settings, request).await?;
    let steps = |field: &str| {
        let steps = answer[field].as_array().into_iter().flatten();
        steps.filter_map(|step| step["version"].as_str()).map(str::to_owned).collect()
    };
    let plan =
        UpgradePlan { control_plane: steps("controlPlaneUpgrades"), workers: steps("workersUpgrades") };
    // A plan that breaks a rule is not kept: the extension is asked again, and may know better by then.
    plan::upgrade_plan(observed, facts, Some(&plan))
        .map_err(|error| Error::failed(format!("the answer of extension {name}: {error}")))?;
    memory.set_planned(asked, plan.clone(), now);
    Ok(Some(plan))
}
