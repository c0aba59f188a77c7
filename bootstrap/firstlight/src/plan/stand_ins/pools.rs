//! The machines of MachinePools of other providers, which are provider IDs in a list. Pure.

use std::collections::{BTreeMap, BTreeSet};

use engine::names::REPLICAS_MANAGED_BY;
use machinery::meta::{annotations, name, namespace};
use serde_json::Value;

use crate::plan::object::Reference;
use crate::plan::view::View;
use crate::tree::conditions::is_provisioned;

/// The number of batches in which the machines of a large pool are replaced, as by the instance refresh of cloud providers. In a small pool,
/// it is one machine after the other.
const BATCHES: usize = 10;

/// The versions of running machines of pools, by provider ID.
pub type Versions<'a> = BTreeMap<&'a str, &'a str>;

/// Returns the provider IDs in the list of a pool's infrastructure.
pub(super) fn provider_ids(infrastructure: &Value) -> impl Iterator<Item = &str> {
    infrastructure["spec"]["providerIDList"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the version that the machines of a pool shall have; empty if the provider decides on it.
pub(super) fn version(pool: &Value) -> &str {
    pool["spec"]["template"]["spec"]["version"].as_str().unwrap_or_default()
}

/// Returns whether the infrastructure of a pool has as many machines as `pool` wants, all of the wanted version.
pub(super) fn is_as_wanted(pool: &Value, infrastructure: &Value, running: &Versions<'_>) -> bool {
    let ids: Vec<&str> = provider_ids(infrastructure).collect();
    let replicas = infrastructure["status"]["replicas"].as_u64();
    is_provisioned(infrastructure)
        && replicas == u64::try_from(ids.len()).ok()
        && ids.len() == wanted(pool, infrastructure)
        && !ids.iter().any(|id| is_old(id, pool, running))
}

/// Returns whether a pool wants fewer machines than its infrastructure has.
pub(super) fn is_shrinking(pool: &Value, infrastructure: &Value) -> bool {
    provider_ids(infrastructure).count() > wanted(pool, infrastructure)
}

/// Returns the next list of provider IDs: new machines come all at once, machines of an old version are replaced in batches.
pub(super) fn next(pool: &Value, infrastructure: &Value, running: &Versions<'_>) -> Vec<String> {
    let mut ids: Vec<String> = provider_ids(infrastructure).map(str::to_owned).collect();
    let wanted = wanted(pool, infrastructure);
    // Old machines are the last ones in the list, so they go first.
    ids.sort_by_key(|id| is_old(id, pool, running));
    if ids.len() > wanted {
        ids.truncate(wanted);
        return ids;
    }
    if ids.len() == wanted {
        let old = ids.iter().filter(|id| is_old(id, pool, running)).count();
        ids.truncate(wanted - old.min((wanted / BATCHES).max(1)));
    }
    let prefix = format!("plan://{}/{}/", namespace(infrastructure), name(infrastructure));
    let numbers = provider_ids(infrastructure).filter_map(|id| id.strip_prefix(&prefix)?.parse::<u64>().ok());
    let first = numbers.max().map_or(0, |last| last + 1);
    let missing = u64::try_from(wanted.saturating_sub(ids.len())).unwrap_or_default();
    ids.splice(0..0, (first..first + missing).map(|number| format!("{prefix}{number}")));
    ids
}

/// Returns the number of machines that a pool wants. If somebody else decides on it, that is the present one.
pub(super) fn wanted(pool: &Value, infrastructure: &Value) -> usize {
    let managed_by = annotations(pool).and_then(|all| all.get(REPLICAS_MANAGED_BY)?.as_str());
    let present = provider_ids(infrastructure).count();
    if managed_by.is_some_and(|value| value != "false") && present > 0 {
        return present;
    }
    let replicas = pool["spec"]["replicas"].as_u64().unwrap_or(1);
    usize::try_from(replicas).unwrap_or(usize::MAX)
}

/// Returns whether a machine runs with another version than the one that `pool` wants.
fn is_old(id: &str, pool: &Value, running: &Versions<'_>) -> bool {
    running.get(id).is_some_and(|running| *running != version(pool))
}

/// Returns the pool of an infrastructure object.
pub(super) fn pool_of<'a>(view: &'a View, infrastructure: &Value) -> Option<&'a Value> {
    let reference = Reference::of(infrastructure);
    view.of_kind("MachinePool").find(|pool| {
        let named = &pool["spec"]["template"]["spec"]["infrastructureRef"];
        Reference::read(named, namespace(pool)) == Some(reference)
    })
}

/// Returns the provider IDs of all Machines, also of those that a provider makes for its pools.
pub(super) fn ids_of_machines(view: &View) -> BTreeSet<&str> {
    view.of_kind("Machine").filter_map(|machine| machine["spec"]["providerID"].as_str()).collect()
}
