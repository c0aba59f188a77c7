//! These controllers change nothing where Cluster API's own controllers are at rest. Each line of `data/resting.jsonl` holds the objects
//! at the end of a step that was recorded from Cluster API v1.14.0; only the content of Secrets, with its hash, is another one.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;

use addons::resource_set::{Applied, Observed, Plan, Source, conclude, plan};
use chrono::{DateTime, Utc};
use engine::patch::{Difference, difference};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use schemas::HasConditions;
use schemas::addons::{ClusterResourceSet, ClusterResourceSetBinding};
use serde::de::DeserializeOwned;
use serde_json::Value;

struct Snapshot {
    after: String,
    objects: Vec<Value>,
}

fn snapshots() -> Vec<Snapshot> {
    let snapshot = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let after = value["after"].as_str().unwrap().to_owned();
        Snapshot { after, objects: value["objects"].as_array().unwrap().clone() }
    };
    include_str!("data/resting.jsonl").lines().map(snapshot).collect()
}

impl Snapshot {
    fn all<K: DeserializeOwned>(&self, kind: &str) -> Vec<Arc<K>> {
        let objects = self.objects.iter().filter(|object| object["kind"] == kind);
        objects.map(|object| Arc::new(serde_json::from_value(object.clone()).unwrap())).collect()
    }

    fn source(&self, kind: &str, name: &str) -> Source {
        let is_named = |found: &Option<String>| found.as_deref() == Some(name);
        if kind == "Secret" {
            let mut all = self.all::<Secret>(kind).into_iter();
            let found = all.find(|secret| is_named(&secret.metadata.name));
            return found.map_or(Source::Missing, Source::of_secret);
        }
        let found = self.all::<ConfigMap>(kind).into_iter().find(|map| is_named(&map.metadata.name));
        found.map_or(Source::Missing, Source::ConfigMap)
    }

    fn observed(&self) -> Vec<Observed> {
        let observed = |set: Arc<ClusterResourceSet>| Observed {
            sources: set
                .spec
                .resources
                .iter()
                .map(|resource| self.source(&resource.kind, &resource.name))
                .collect(),
            clusters: self.all("Cluster"),
            bindings: self.all("ClusterResourceSetBinding"),
            set,
        };
        self.all("ClusterResourceSet").into_iter().map(observed).collect()
    }
}

fn now() -> DateTime<Utc> {
    machinery::clock::parse_rfc3339("2026-11-23T00:00:00Z").unwrap()
}

/// Returns the outcome of a plan without work.
fn outcome(plan: Plan) -> engine::Outcome<ClusterResourceSet> {
    let applied = |target: &addons::resource_set::Target| Applied {
        cluster: target.cluster.name.clone(),
        resources: Vec::new(),
        is_unconnected: false,
        error: None,
    };
    let applied = plan.targets.iter().map(applied).collect();
    conclude(plan, Vec::new(), applied, now())
}

#[test]
fn sets_and_bindings() {
    let mut resting = 0;
    for snapshot in snapshots() {
        for observed in snapshot.observed() {
            let name = observed.set.metadata.name.as_deref().unwrap();
            let told = format!("{name} after {}", snapshot.after);
            let plan = plan(&observed, now());
            assert!(plan.owned.is_empty() && plan.released.is_empty(), "{told}");
            let work: Vec<_> = plan.targets.iter().flat_map(|target| &target.work).collect();
            // Upstream tries these again and again.
            if snapshot.after.starts_with("ConfigMap again-src: ") && name == "again" && !work.is_empty() {
                let binding = &observed.bindings[0].spec.bindings;
                let entry = binding.iter().find(|entry| entry.cluster_resource_set_name == name).unwrap();
                let content = &work[0].content;
                let hash = content.hash.clone().filter(|_| content.manifests.is_ok());
                assert_eq!((&entry.resources[0].hash, entry.resources[0].applied), (&hash, false), "{told}");
                continue;
            }
            assert!(work.is_empty(), "{told}");
            let outcome = outcome(plan);
            let wanted = outcome.wanted.unwrap();
            if name == "bad" {
                let told = |set: &ClusterResourceSet| {
                    let condition = set.condition("ResourcesApplied").cloned().unwrap();
                    (condition.status, condition.reason)
                };
                // Without the label and without the Cluster, nothing is said anew.
                assert_eq!(told(&wanted), told(&observed.set));
                continue;
            }
            let value = |set: &ClusterResourceSet| serde_json::to_value(set).unwrap();
            let changed = difference(&value(&observed.set), &value(&wanted));
            assert_eq!(changed, Difference::default(), "{told}");
            resting += 1;
        }
    }
    assert_eq!(resting, 31, "sets at rest");
}

#[test]
fn the_deletion_of_a_set() {
    let snapshots = snapshots();
    let index = snapshots.iter().position(|snapshot| snapshot.after.starts_with("delete ClusterResourceSet"));
    let (before, after) = (&snapshots[index.unwrap() - 1], &snapshots[index.unwrap()]);
    let is_again = |observed: &Observed| observed.set.metadata.name.as_deref() == Some("again");
    let mut observed = before.observed().into_iter().find(is_again).unwrap();
    let mut set = observed.set.as_ref().clone();
    set.metadata.deletion_timestamp = serde_json::from_value("2026-11-23T00:00:00Z".into()).unwrap();
    observed.set = Arc::new(set);
    let plan = plan(&observed, now());
    let wanted = plan.released[0].wanted.as_ref().unwrap();
    let expected = after.all::<ClusterResourceSetBinding>("ClusterResourceSetBinding").remove(0);
    assert_eq!(wanted.spec, expected.spec);
    assert_eq!(wanted.metadata.owner_references, expected.metadata.owner_references);
}
