//! Stand-ins for the controllers of other providers: infrastructure of any kind, and control planes and bootstrap configurations other than
//! kubeadm's. They fulfil the contract of Cluster API after the given durations, and touch nothing outside of the plan.

mod apply;
mod hosts;
pub mod plan;
pub mod pools;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use engine::{Manager, NamespacedName};
use kube::Client;
use machinery::meta::{name, namespace};
use server::plane::Plane;

use super::certificates;
use super::object::is_foreign;
use super::view::View;
use hosts::Hosts;
use plan::{Durations, Step, wishes};

/// What stand-ins still have to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Later {
    /// When the next step is due.
    pub due: Option<DateTime<Utc>>,
    /// Whether a step is to be tried again, because something is missing.
    pub is_retried: bool,
}

impl Later {
    /// Returns whether there is something to do now.
    pub fn is_due(&self, now: DateTime<Utc>) -> bool {
        self.is_retried || self.due.is_some_and(|due| due <= now)
    }
}

/// The stand-ins of a plan.
pub struct StandIns {
    client: Client,
    plane: Plane,
    durations: Durations,
    hosts: Hosts,
    /// Since when each step is being done, by the key of its object.
    since: BTreeMap<(String, Step), DateTime<Utc>>,
    refused: BTreeSet<(String, Step)>,
    notes: Vec<String>,
}

impl StandIns {
    /// Creates the stand-ins for the objects of `plane`.
    pub fn new(plane: &Plane, manager: &Manager, durations: Durations) -> Self {
        Self {
            client: plane.client("stand-in"),
            plane: plane.clone(),
            durations,
            hosts: Hosts::new(manager),
            since: BTreeMap::new(),
            refused: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    /// Takes the steps that are due. Returns what is to be done later.
    pub async fn step(&mut self, view: &View, now: DateTime<Utc>) -> Later {
        if !view.has_foreign() && self.hosts.is_empty() {
            self.since.clear();
            return Later::default();
        }
        let wishes = wishes(view, &self.durations, &self.hosts.versions());
        let wanted: BTreeSet<(String, Step)> =
            wishes.iter().map(|wish| (wish.key.clone(), wish.step)).collect();
        self.since.retain(|key, _| wanted.contains(key));
        let mut next: Option<DateTime<Utc>> = None;
        // A Node must be gone before its machine is.
        let secretless = self.hosts.run(view).await;
        for cluster in &secretless {
            self.make_secrets(view, cluster).await;
        }
        for wish in wishes {
            let key = (wish.key, wish.step);
            if self.refused.contains(&key) {
                continue;
            }
            let due = *self.since.entry(key.clone()).or_insert(now) + wish.after;
            if due > now {
                next = Some(next.map_or(due, |next| next.min(due)));
                continue;
            }
            self.since.remove(&key);
            if let Some(object) = view.by_key(&key.0)
                && let Err(error) = self.take(view, object, key.1).await
            {
                self.notes.push(format!("the stand-in for {} cannot go on: {error:#}", spoken(&key.0)));
                self.refused.insert(key);
            }
        }
        Later { due: next, is_retried: !secretless.is_empty() }
    }

    /// Creates the Secrets of a cluster with a control plane of another provider, which would do so. Kubeadm's makes its own.
    async fn make_secrets(&mut self, view: &View, cluster: &NamespacedName) {
        let Some(cluster) = view.cluster(&cluster.namespace, &cluster.name) else { return };
        let control_plane = view.referenced(&cluster["spec"]["controlPlaneRef"], namespace(cluster));
        if !control_plane.is_some_and(is_foreign) {
            return;
        }
        if let Err(error) = certificates::ensure(&self.client, self.plane.dependencies(), cluster).await {
            self.notes.push(format!("Cluster {} has no certificates: {error:#}", name(cluster)));
        }
    }

    /// Returns what went wrong, each a sentence.
    pub fn into_notes(mut self) -> Vec<String> {
        self.notes.extend_from_slice(self.hosts.failures());
        self.notes
    }
}

/// Returns a key of the view in the form `Kind namespace/name`.
fn spoken(key: &str) -> String {
    let mut parts = key.splitn(4, '/').skip(1);
    let mut next = || parts.next().unwrap_or_default().to_owned();
    let (kind, namespace, name) = (next(), next(), next());
    format!("{kind} {namespace}/{name}")
}
