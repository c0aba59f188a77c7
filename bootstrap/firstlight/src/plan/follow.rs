//! Follows the changes of a plan, and adds up what the reader wants to know of them.

use machinery::meta::{is_deleting, namespace};
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use store::Event;

use super::action::{Verb, action};
use super::object::{Reference, cluster_of};
use super::progress::Progress;
use super::view::View;
use super::waits::Waits;
use crate::limits::PLAN_ACTIONS;
use crate::tree::conditions::is_true;

/// One action of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// When it begins, in seconds after the change.
    pub after_seconds: i64,
    /// When it is done: a new Machine is available, a deleted object is gone; absent if that is at once, or does not happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_seconds: Option<i64>,
    /// What is done with the object.
    pub action: Verb,
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object; empty if it is in none.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The name of the Cluster that it belongs to; empty if it belongs to none.
    pub cluster: String,
    /// Why it happens; empty if that needs no words.
    pub reason: String,
    /// Whether it would happen without the change, too.
    pub is_under_way: bool,
}

/// The numbers of machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Machines {
    /// Machines that are created.
    pub created: usize,
    /// Machines that are deleted.
    pub deleted: usize,
    /// Machines that are changed and keep running.
    pub updated_in_place: usize,
    /// By how many a cluster had more Machines than its control plane and workers want together, at most.
    pub most_above_wanted: i64,
    /// How many Machines were available in all these clusters together, at least.
    pub fewest_available: i64,
    /// How many Machines are wanted at the end.
    pub wanted: i64,
}

/// Follows all changes of objects.
pub struct Follower {
    /// The current objects.
    pub view: View,
    /// What objects wait for.
    pub waits: Waits,
    /// Whether the changes lead anywhere.
    pub progress: Progress,
    /// The clusters that the change concerns: `namespace/name`.
    pub clusters: BTreeSet<String>,
    /// How many changes there were.
    pub changes: u64,
    /// How many actions are not in `actions`, because there were too many.
    pub left_out: usize,
    actions: Vec<Action>,
    /// The actions that are not done yet, by the key of their object.
    open: BTreeMap<String, usize>,
    /// When the change was applied; until then, all actions are under way.
    applied: Option<DateTime<Utc>>,
    last_change: DateTime<Utc>,
    most_above: i64,
    fewest_available: Option<i64>,
    is_counted: bool,
}

impl Follower {
    /// Begins with the objects of `view`.
    pub fn new(view: View, now: DateTime<Utc>) -> Self {
        Self {
            view,
            waits: Waits::default(),
            progress: Progress::new(now),
            clusters: BTreeSet::new(),
            changes: 0,
            left_out: 0,
            actions: Vec::new(),
            open: BTreeMap::new(),
            applied: None,
            last_change: now,
            most_above: 0,
            fewest_available: None,
            is_counted: true,
        }
    }

    /// Notes that the change is applied now. Waits count from here.
    pub fn begin(&mut self, now: DateTime<Utc>) {
        self.applied = Some(now);
        self.last_change = now;
        for (key, object) in self.view.all() {
            self.waits.observe(now, key, Some(object));
        }
    }

    /// Takes in an event of the store.
    pub fn observe(&mut self, now: DateTime<Utc>, event: &Event) {
        self.changes += 1;
        // What lasted for no time was not there.
        if now > self.last_change {
            self.count();
        }
        let Some(change) = self.view.observe(event) else { return };
        self.last_change = now;
        self.progress.observe(now, &change);
        let after = self.applied.map_or(0, |applied| (now - applied).num_seconds());
        if let Some((verb, reason)) = action(&change, &self.view) {
            self.add(after, verb, reason, &change.key, change.object());
        }
        self.close(after, &change.key, change.new.as_deref());
        if self.applied.is_some() {
            self.waits.observe(now, &change.key, change.new.as_deref());
            self.is_counted &= !counts(change.object());
        }
    }

    fn add(&mut self, after: i64, action: Verb, reason: String, key: &str, object: &Value) {
        let Reference { kind, namespace, name, .. } = Reference::of(object);
        let cluster = cluster_of(object);
        if self.applied.is_some() {
            self.clusters.extend(cluster.clone());
        }
        if self.actions.len() >= PLAN_ACTIONS {
            self.left_out += 1;
            return;
        }
        if matches!(action, Verb::Delete) || (action, kind) == (Verb::Create, "Machine") {
            self.open.insert(key.to_owned(), self.actions.len());
        }
        self.actions.push(Action {
            after_seconds: after,
            until_seconds: None,
            action,
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            cluster: cluster
                .and_then(|cluster| Some(cluster.split_once('/')?.1.to_owned()))
                .unwrap_or_default(),
            reason,
            is_under_way: self.applied.is_none(),
        });
    }

    /// Notes that the action on an object is done.
    fn close(&mut self, after: i64, key: &str, new: Option<&Value>) {
        let Some(index) = self.open.get(key).copied() else { return };
        let Some(open) = self.actions.get_mut(index) else { return };
        let is_done = match (open.action, new) {
            (Verb::Create, Some(new)) => is_true(new, "Available") && !is_deleting(new),
            (_, None) => true,
            _ => false,
        };
        if is_done {
            open.until_seconds = Some(after);
            self.open.remove(key);
        }
    }

    /// Counts the Machines of the clusters that the change concerns, unless that was done since they changed.
    fn count(&mut self) {
        if std::mem::replace(&mut self.is_counted, true) {
            return;
        }
        let (mut available, mut above) = (0, 0);
        for cluster in &self.clusters {
            let (wanted, machines, are_available) = self.machines_of(cluster);
            above = above.max(machines - wanted);
            available += are_available;
        }
        self.most_above = self.most_above.max(above);
        if !self.clusters.is_empty() {
            self.fewest_available =
                Some(self.fewest_available.map_or(available, |fewest| fewest.min(available)));
        }
    }

    /// Returns how many Machines a cluster wants, has, and has available, without those of MachinePools.
    fn machines_of(&self, cluster: &str) -> (i64, i64, i64) {
        let is_in = |object: &&Value| cluster_of(object).as_deref() == Some(cluster);
        let machines: Vec<&Value> = self.view.of_kind("Machine").filter(is_in).collect();
        let available = machines.iter().filter(|machine| is_true(machine, "Available")).count();
        (self.wanted(cluster), machines.len() as i64, available as i64)
    }

    /// Returns how many Machines the control plane and the MachineDeployments of a cluster want.
    fn wanted(&self, cluster: &str) -> i64 {
        let is_in = |object: &&Value| cluster_of(object).as_deref() == Some(cluster);
        let replicas = |object: &Value| object["spec"]["replicas"].as_i64();
        let deployments = self.view.of_kind("MachineDeployment").filter(is_in).filter_map(replicas);
        let control_planes = self.view.of_kind("Cluster").filter(is_in).filter_map(|object| {
            let space = namespace(object);
            replicas(self.view.referenced(&object["spec"]["controlPlaneRef"], space)?)
        });
        deployments.chain(control_planes).sum()
    }

    /// Returns the numbers of machines so far.
    pub fn machines(&mut self) -> Machines {
        self.count();
        let count = |verb: Verb| {
            self.actions.iter().filter(|action| action.kind == "Machine" && action.action == verb).count()
        };
        Machines {
            created: count(Verb::Create),
            deleted: count(Verb::Delete),
            updated_in_place: count(Verb::Update),
            most_above_wanted: self.most_above,
            fewest_available: self.fewest_available.unwrap_or_default(),
            wanted: self.clusters.iter().map(|cluster| self.wanted(cluster)).sum(),
        }
    }

    /// Returns the actions so far, in their order.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Returns when an object changed last.
    pub fn last_change(&self) -> DateTime<Utc> {
        self.last_change
    }
}

/// Returns whether a change of this object can change the numbers of machines.
fn counts(object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    ["Machine", "MachineDeployment", "Cluster"].contains(&kind) || kind.ends_with("ControlPlane")
}
