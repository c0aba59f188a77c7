//! How many Pods each ReplicaSet of a Deployment has during a rollout.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{DeploymentSpec, ReplicaSet};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The share of Pods above and below the wanted number, if the Deployment names none.
const DEFAULT: &str = "25%";

/// Returns the sets that get another number of Pods, with this number.
pub fn rollout(
    spec: &DeploymentSpec,
    current: Option<&Arc<ReplicaSet>>,
    old: &[Arc<ReplicaSet>],
) -> Vec<(Arc<ReplicaSet>, i32)> {
    let wanted = spec.replicas.unwrap_or(1);
    let mut scale = Vec::new();
    if let Some(current) = current {
        let grown = grown(spec, current, old);
        if grown != replicas(current) {
            scale.push((current.clone(), grown));
        }
    }
    let mut may_go = if recreates(spec) {
        i32::MAX
    } else {
        let least = wanted - limits(spec).1;
        let not_available =
            current.map_or(0, |current| replicas(current) - available(current).min(replicas(current)));
        let all: i32 =
            old.iter().map(|set| replicas(set)).sum::<i32>() + current.map_or(0, |current| replicas(current));
        // Pods that are not available count as gone, so that a broken template can be replaced.
        (all - least - not_available).max(0)
    };
    for set in old.iter().filter(|set| replicas(set) > 0) {
        let broken = replicas(set) - available(set).min(replicas(set));
        let going = replicas(set).min(may_go.max(broken));
        if going > 0 {
            may_go = (may_go - going).max(0);
            scale.push((set.clone(), replicas(set) - going));
        }
    }
    scale
}

/// Returns the number of Pods with which a new set begins.
pub fn first(spec: &DeploymentSpec, old: &[Arc<ReplicaSet>]) -> i32 {
    let wanted = spec.replicas.unwrap_or(1);
    if recreates(spec) && old.iter().any(|set| replicas(set) > 0 || running(set) > 0) {
        return 0;
    }
    room(spec, old).clamp(0, wanted)
}

fn grown(spec: &DeploymentSpec, current: &ReplicaSet, old: &[Arc<ReplicaSet>]) -> i32 {
    let wanted = spec.replicas.unwrap_or(1);
    let own = replicas(current);
    if own >= wanted {
        return wanted;
    }
    if recreates(spec) {
        let is_free = old.iter().all(|set| replicas(set) == 0 && running(set) == 0);
        return if is_free { wanted } else { own };
    }
    (own + (room(spec, old) - own).max(0)).min(wanted)
}

/// Returns how many Pods the current set may have besides the old ones.
fn room(spec: &DeploymentSpec, old: &[Arc<ReplicaSet>]) -> i32 {
    spec.replicas.unwrap_or(1) + limits(spec).0 - old.iter().map(|set| replicas(set)).sum::<i32>()
}

fn recreates(spec: &DeploymentSpec) -> bool {
    spec.strategy.as_ref().and_then(|strategy| strategy.type_.as_deref()) == Some("Recreate")
}

/// Returns the numbers of Pods above and below the wanted number.
fn limits(spec: &DeploymentSpec) -> (i32, i32) {
    let rolling =
        spec.strategy.as_ref().and_then(|strategy| strategy.rolling_update.clone()).unwrap_or_default();
    let wanted = spec.replicas.unwrap_or(1);
    let surge = part(rolling.max_surge, wanted, true);
    let unavailable = part(rolling.max_unavailable, wanted, false);
    // With both zero nothing could ever move.
    (surge, if surge == 0 { unavailable.max(1) } else { unavailable })
}

/// Returns a number of Pods, or a share of `of`.
pub fn part(value: Option<IntOrString>, of: i32, rounds_up: bool) -> i32 {
    match value.unwrap_or_else(|| IntOrString::String(DEFAULT.to_owned())) {
        IntOrString::Int(number) => number,
        IntOrString::String(text) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or_default();
            let product = percent.saturating_mul(of.into());
            let rounded = if rounds_up { (product + 99) / 100 } else { product / 100 };
            i32::try_from(rounded).unwrap_or(i32::MAX)
        }
    }
}

fn replicas(set: &ReplicaSet) -> i32 {
    set.spec.replicas.unwrap_or(1)
}

fn available(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or_default()
}

fn running(set: &ReplicaSet) -> i32 {
    set.status.as_ref().map(|status| status.replicas).unwrap_or_default()
}
