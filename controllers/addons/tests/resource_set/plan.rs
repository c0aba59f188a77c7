//! The rules of a ClusterResourceSet, a row each.

use std::sync::Arc;

use addons::names::FINALIZER;
use addons::resource_set::outcome::{Failure, Verdict};
use addons::resource_set::source::Owned;
use addons::resource_set::{Observed, Source, manifests, plan, record};
use chrono::{DateTime, Utc};
use engine::{NamespacedName, finalizer, owners};
use schemas::FromJson;
use schemas::addons::{ClusterResourceSet, ClusterResourceSetBinding, ResourceReference};
use schemas::cluster::Cluster;
use serde_json::{Value, json};

const MANIFEST: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: default}\n";

fn parse<T: FromJson>(value: Value) -> Arc<T> {
    Arc::new(T::from_json(value.to_string().as_bytes()).unwrap())
}

fn config_map(name: &str, text: &str) -> Source {
    Source::ConfigMap(parse(json!({"metadata": {"name": name, "namespace": "n"}, "data": {"k": text}})))
}

fn secret(kind: &str) -> Source {
    Source::of_secret(parse(
        json!({"metadata": {"name": "s", "namespace": "n"}, "type": kind, "stringData": {}}),
    ))
}

fn cluster(change: Value) -> Arc<Cluster> {
    let mut object =
        json!({"metadata": {"name": "c", "namespace": "n", "labels": {"addons": "yes"}}, "spec": {}});
    merge(&mut object, &change);
    parse(object)
}

fn merge(target: &mut Value, change: &Value) {
    *target = machinery::patch::merge_patch(target, change.to_string().as_bytes()).unwrap().object;
}

/// A set of one ConfigMap.
fn observed(strategy: &str, source: Source, bindings: Vec<Arc<ClusterResourceSetBinding>>) -> Observed {
    Observed {
        set: parse(json!({
            "metadata": {"name": "set", "namespace": "n", "uid": "u", "generation": 3, "finalizers": [FINALIZER]},
            "spec": {
                "strategy": strategy, "clusterSelector": {"matchLabels": {"addons": "yes"}},
                "resources": [{"kind": "ConfigMap", "name": "m"}],
            },
        })),
        sources: vec![source],
        clusters: vec![cluster(json!({}))],
        bindings,
    }
}

/// The binding of the Cluster with an entry of the set and of another one.
fn binding(resources: Value) -> Arc<ClusterResourceSetBinding> {
    let owner = |name: &str| json!({"apiVersion": ClusterResourceSet::API_VERSION, "kind": "ClusterResourceSet", "name": name, "uid": "u"});
    parse(json!({
        "metadata": {"name": "c", "namespace": "n", "ownerReferences": [owner("other"), owner("set")]},
        "spec": {"clusterName": "c", "bindings": [
            {"clusterResourceSetName": "other", "resources": [{"kind": "ConfigMap", "name": "m", "applied": true, "hash": "sha256:0"}]},
            {"clusterResourceSetName": "set", "resources": resources},
        ]},
    }))
}

fn entry(applied: bool, hash: Option<String>) -> Value {
    json!([{"kind": "ConfigMap", "name": "m", "applied": applied, "hash": hash, "lastAppliedTime": "2026-01-01T00:00:00Z"}])
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

/// Returns whether the resource is applied to the Cluster, and whether the Cluster must be connected.
fn does(observed: &Observed) -> (bool, bool) {
    let plan = plan(observed, now());
    let [target] = plan.targets.as_slice() else { panic!("{} targets", plan.targets.len()) };
    (!target.work.is_empty(), target.needs_connection)
}

#[test]
fn a_resource_is_applied_once_or_whenever_it_changed() {
    let source = || config_map("m", MANIFEST);
    let (same, other) = (manifests::hash(&source()), Some("sha256:0".to_owned()));
    for (strategy, resources, expected) in [
        ("ApplyOnce", json!([]), true),
        ("ApplyOnce", entry(false, same.clone()), true),
        ("ApplyOnce", entry(false, None), true),
        ("ApplyOnce", entry(true, same.clone()), false),
        ("ApplyOnce", entry(true, other.clone()), false),
        ("Reconcile", json!([]), true),
        ("Reconcile", entry(false, same.clone()), true),
        ("Reconcile", entry(true, same.clone()), false),
        ("Reconcile", entry(true, other.clone()), true),
        ("Reconcile", entry(true, None), true),
    ] {
        let observed = observed(strategy, source(), vec![binding(resources.clone())]);
        assert_eq!(does(&observed), (expected, expected), "{strategy} {resources}");
    }
    let observed = observed("Reconcile", source(), Vec::new());
    let plan = plan(&observed, now());
    let work = &plan.targets[0].work[0];
    assert!(work.updates && !work.is_secret && work.content.hash == same);
    assert_eq!(work.content.manifests.as_ref().ok().unwrap().len(), 1);
}

#[test]
fn a_resource_that_is_missing_or_cannot_be_read() {
    assert_eq!(does(&observed("ApplyOnce", Source::Missing, Vec::new())), (false, true), "it may come");
    let known = vec![binding(entry(true, None))];
    assert_eq!(does(&observed("Reconcile", Source::Missing, known)), (false, false));
    for source in [config_map("m", "short"), Source::ConfigMap(parse(json!({"metadata": {"name": "m"}})))] {
        let plan = plan(&observed("ApplyOnce", source, Vec::new()), now());
        assert!(plan.targets[0].work[0].content.manifests.is_err());
    }
}

#[test]
fn the_set_owns_its_resources_before_anything_is_applied() {
    let observed = observed("ApplyOnce", config_map("m", MANIFEST), Vec::new());
    let plan = plan(&observed, now());
    let [Owned::ConfigMap(_, wanted)] = plan.owned.as_slice() else { panic!("one object is owned") };
    let owner = owners::find(wanted, ClusterResourceSet::GROUP, "ClusterResourceSet").unwrap();
    assert_eq!((owner.name.as_str(), owner.uid.as_str(), owner.controller), ("set", "u", None));
    let owned = Observed { sources: vec![Source::ConfigMap(Arc::new(wanted.clone()))], ..observed };
    assert!(addons::resource_set::plan::plan(&owned, now()).owned.is_empty());
}

#[test]
fn a_secret_of_another_type_stops_everything_but_the_owners() {
    let mut observed = observed("ApplyOnce", config_map("m", MANIFEST), Vec::new());
    let mut set = observed.set.as_ref().clone();
    set.spec.resources.push(ResourceReference { kind: "Secret".into(), name: "s".into() });
    observed.set = Arc::new(set);
    for (kind, wrong) in [("Opaque", 1), ("", 1), (addons::names::SECRET_TYPE, 0)] {
        observed.sources.truncate(1);
        observed.sources.push(secret(kind));
        let plan = plan(&observed, now());
        assert_eq!((plan.wrong_types.len(), plan.targets.len()), (wrong, 1 - wrong), "{kind}");
        assert_eq!(plan.owned.len(), 2 - wrong, "{kind}");
    }
}

#[test]
fn which_clusters_are_selected() {
    for (change, expected) in [
        (json!({}), 1),
        (json!({"metadata": {"labels": {"addons": "no"}}}), 0),
        (json!({"metadata": {"labels": null}}), 0),
        (json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), 0),
        (json!({"spec": {"paused": true}}), 0),
        (json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}), 0),
    ] {
        let mut observed = observed("ApplyOnce", config_map("m", MANIFEST), Vec::new());
        observed.clusters = vec![cluster(change.clone())];
        let plan = plan(&observed, now());
        assert_eq!((plan.targets.len(), plan.owned.len()), (expected, expected), "{change}");
        assert_eq!(plan.set.status.unwrap().observed_generation, Some(3), "{change}");
    }
}

#[test]
fn a_deleted_set_leaves_the_bindings() {
    let deleted = |bindings: Vec<Arc<ClusterResourceSetBinding>>| {
        let mut observed = observed("ApplyOnce", config_map("m", MANIFEST), bindings);
        let mut set = observed.set.as_ref().clone();
        set.metadata.deletion_timestamp = serde_json::from_value("2026-01-01T00:00:00Z".into()).unwrap();
        observed.set = Arc::new(set);
        observed
    };
    let plan_of = |observed: &Observed| {
        let plan = plan(observed, now());
        assert!(plan.targets.is_empty() && plan.owned.is_empty() && !finalizer::has(&plan.set, FINALIZER));
        plan
    };
    assert!(plan_of(&deleted(Vec::new())).released.is_empty());
    let shared = binding(entry(true, None));
    let plan = plan_of(&deleted(vec![shared.clone()]));
    let wanted = plan.released[0].wanted.as_ref().unwrap();
    assert_eq!(
        (wanted.spec.bindings.len(), wanted.metadata.owner_references.as_ref().unwrap().len()),
        (1, 1)
    );
    assert_eq!(wanted.spec.bindings[0].cluster_resource_set_name, "other");

    let mut own = shared.as_ref().clone();
    own.spec.bindings.remove(0);
    let mut observed = deleted(vec![Arc::new(own)]);
    assert!(plan_of(&observed).released[0].wanted.is_none(), "an empty binding is deleted");
    // A Cluster that is no longer selected has an entry, too.
    observed.clusters = vec![cluster(json!({"metadata": {"labels": null}}))];
    assert_eq!(plan_of(&observed).released.len(), 1);
    observed.clusters = vec![cluster(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}))];
    assert!(plan_of(&observed).released.is_empty());
    let mut other = shared.as_ref().clone();
    other = record::without(&other, &observed.set).unwrap();
    assert!(plan_of(&deleted(vec![Arc::new(other)])).released.is_empty());
}

#[test]
fn a_binding_records_what_became_of_each_resource() {
    let set = observed("ApplyOnce", Source::Missing, Vec::new()).set;
    let name = NamespacedName::new("n", "c");
    let reference = |name: &str| ResourceReference { kind: "ConfigMap".into(), name: name.into() };
    let verdict = |hash: Option<&str>, fails: bool| Verdict {
        hash: hash.map(str::to_owned),
        failure: fails.then(|| Failure { reason: "no".into(), is_retried: true }),
    };
    let new = record::new(&name, &set);
    assert_eq!((new.spec.cluster_name.as_str(), new.spec.bindings.len()), ("c", 0));
    let empty = record::with(&new, &set, &[], now());
    assert_eq!(
        serde_json::to_value(&empty.spec.bindings).unwrap(),
        json!([{"clusterResourceSetName": "set"}])
    );

    let outcome = [(reference("a"), verdict(Some("sha256:1"), false)), (reference("b"), verdict(None, true))];
    let first = record::with(&empty, &set, &outcome, now());
    let expected = json!([{"clusterResourceSetName": "set", "resources": [
        {"kind": "ConfigMap", "name": "a", "applied": true, "hash": "sha256:1", "lastAppliedTime": "2027-01-15T08:00:00Z"},
        {"kind": "ConfigMap", "name": "b", "applied": false, "lastAppliedTime": "2027-01-15T08:00:00Z"},
    ]}]);
    assert_eq!(serde_json::to_value(&first.spec.bindings).unwrap(), expected);

    let later = now() + chrono::TimeDelta::hours(1);
    assert_eq!(record::with(&first, &set, &outcome[1..], later), first, "a repeated failure is not written");
    let mended = record::with(&first, &set, &[(reference("b"), verdict(Some("sha256:2"), false))], later);
    let entry = record::entry(&mended, "set", &reference("b")).unwrap();
    assert_eq!((entry.applied, entry.last_applied_time.as_deref()), (true, Some("2027-01-15T09:00:00Z")));
    assert_eq!(record::entry(&mended, "set", &reference("a")), record::entry(&first, "set", &reference("a")));
    assert_eq!(record::entry(&mended, "other", &reference("a")), None);
}
