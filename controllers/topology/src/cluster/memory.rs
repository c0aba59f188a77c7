//! What is kept in memory about each Cluster. All of it can be lost: after a restart, each object is applied once more, which changes
//! nothing, and extensions are asked at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use engine::{Applied, NamespacedName};
use parking_lot::Mutex;
use schemas::cluster::{Cluster, ClusterClassStatusVariable, Topology};
use serde_json::Value;

use super::blocked::Blocked;
use crate::extensions::Hook;
use crate::versions::UpgradePlan;

/// The memory about all Clusters, by name.
#[derive(Default)]
pub struct Memory(Mutex<BTreeMap<NamespacedName, Arc<OfCluster>>>);

/// The memory about a Cluster.
#[derive(Default)]
pub struct OfCluster {
    uid: String,
    /// What was applied last to each of its objects.
    pub applied: Applied,
    /// Until when hooks are not called again, with what their extensions said.
    waits: Mutex<BTreeMap<Hook, (DateTime<Utc>, String)>>,
    /// The last plan of an upgrade that an extension made.
    planned: Mutex<Option<Planned>>,
    /// The last topology whose variables were checked. To compile their schemas and rules takes longer than the rest of a reconcile.
    defaulted: Mutex<Option<Defaulted>>,
}

/// A topology whose variables were checked.
struct Defaulted {
    /// The topology.
    given: Topology,
    /// The definitions of its class.
    definitions: Vec<ClusterClassStatusVariable>,
    /// The topology with the defaults.
    with_defaults: Topology,
}

/// A plan of an upgrade that an extension made.
struct Planned {
    /// What was asked.
    request: Value,
    /// What it answered.
    plan: UpgradePlan,
    /// Until when it is not asked again.
    until: DateTime<Utc>,
}

/// How long an extension is not asked for the same plan again. As upstream.
const PLANNED_MINUTES: i64 = 10;

impl Memory {
    /// Returns the memory about `cluster`. A Cluster that was deleted and created again is another one.
    pub fn of(&self, cluster: &Cluster) -> Arc<OfCluster> {
        let uid = engine::object::uid(cluster);
        let mut all = self.0.lock();
        let known = all.entry(NamespacedName::of(cluster)).or_default();
        if known.uid != uid {
            *known = Arc::new(OfCluster { uid: uid.to_owned(), ..OfCluster::default() });
        }
        known.clone()
    }

    /// Forgets a Cluster that no longer exists.
    pub fn forget(&self, cluster: &NamespacedName) {
        self.0.lock().remove(cluster);
    }
}

impl OfCluster {
    /// Returns what a hook still waits for; `None` if it is to be called.
    pub fn waits_for(&self, hook: Hook, now: DateTime<Utc>) -> Option<Blocked> {
        let waits = self.waits.lock();
        let (until, message) = waits.get(&hook)?;
        let retry_after = (*until - now).to_std().ok().filter(|left| !left.is_zero())?;
        Some(Blocked { hook: hook.name().to_owned(), message: message.clone(), retry_after })
    }

    /// Records the answer to a hook; `None` if nothing holds up the Cluster.
    pub fn set_answer(&self, hook: Hook, blocked: Option<&Blocked>, now: DateTime<Utc>) {
        let mut waits = self.waits.lock();
        match blocked {
            Some(blocked) => {
                let wait = TimeDelta::from_std(blocked.retry_after).unwrap_or(TimeDelta::MAX);
                let until = now.checked_add_signed(wait).unwrap_or(DateTime::<Utc>::MAX_UTC);
                waits.insert(hook, (until, blocked.message.clone()));
            }
            None => drop(waits.remove(&hook)),
        }
    }

    /// Returns the topology with the defaults of its variables, if it was checked with these definitions.
    pub fn defaulted(
        &self,
        given: &Topology,
        definitions: &[ClusterClassStatusVariable],
    ) -> Option<Topology> {
        let known = self.defaulted.lock();
        let known = known.as_ref().filter(|known| known.given == *given && known.definitions == definitions);
        known.map(|known| known.with_defaults.clone())
    }

    /// Records a topology that was checked with these definitions.
    pub fn set_defaulted(
        &self,
        given: Topology,
        definitions: Vec<ClusterClassStatusVariable>,
        with_defaults: Topology,
    ) {
        *self.defaulted.lock() = Some(Defaulted { given, definitions, with_defaults });
    }

    /// Returns the plan that an extension made for the same request.
    pub fn planned(&self, request: &Value, now: DateTime<Utc>) -> Option<UpgradePlan> {
        let planned = self.planned.lock();
        let planned = planned.as_ref().filter(|planned| planned.request == *request && now < planned.until);
        planned.map(|planned| planned.plan.clone())
    }

    /// Records the plan that an extension made.
    pub fn set_planned(&self, request: Value, plan: UpgradePlan, now: DateTime<Utc>) {
        let until = now + TimeDelta::minutes(PLANNED_MINUTES);
        *self.planned.lock() = Some(Planned { request, plan, until });
    }
}
