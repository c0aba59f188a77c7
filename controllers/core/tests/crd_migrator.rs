//! Definitions change, and the CRD migrator brings their objects after them.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use cluster_core::crd_migrator::plan::{OBSERVED_GENERATION, cleaned, is_due, task};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, ObjectMeta};
use serde_json::{Value, json};
use test_plane::Fixture;
use test_plane::requests::{Kill, Moment};

const GROUPS: &[&str] = &["ipam.cluster.x-k8s.io", "cluster.x-k8s.io"];
const NAME: &str = "ipaddressclaims.ipam.cluster.x-k8s.io";

fn start(manager: &engine::Manager) {
    let updater: engine::in_place::SharedUpdater = std::sync::Arc::new(engine::in_place::NoUpdater);
    (cluster_core::crd_migrator::CONTROLLER.start)(manager, &updater);
}

fn definitions(fixture: &Fixture) -> Api<CustomResourceDefinition> {
    Api::all(fixture.user())
}

async fn definition(fixture: &Fixture) -> CustomResourceDefinition {
    definitions(fixture).get(NAME).await.unwrap()
}

/// Changes a field of a version of the definition.
async fn set(fixture: &Fixture, changes: &[(&str, &str, bool)]) {
    let mut value = serde_json::to_value(definition(fixture).await).unwrap();
    for (version, field, to) in changes {
        let versions = value["spec"]["versions"].as_array_mut().unwrap();
        versions.iter_mut().find(|found| found["name"] == *version).unwrap()[*field] = json!(to);
    }
    let changed: CustomResourceDefinition = serde_json::from_value(value).unwrap();
    definitions(fixture).replace(NAME, &Default::default(), &changed).await.unwrap();
}

fn claims(fixture: &Fixture, version: &str) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: "ipam.cluster.x-k8s.io".into(),
        version: version.into(),
        api_version: format!("ipam.cluster.x-k8s.io/{version}"),
        kind: "IPAddressClaim".into(),
        plural: "ipaddressclaims".into(),
    };
    Api::namespaced_with(fixture.user(), "default", &resource)
}

/// Applies a claim in a version, as a manager.
async fn apply(fixture: &Fixture, version: &str, manager: &str, name: &str) {
    let claim = json!({
        "apiVersion": format!("ipam.cluster.x-k8s.io/{version}"), "kind": "IPAddressClaim", "metadata": {"name": name},
        "spec": {"poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "Pool", "name": "pool"}},
    });
    let parameters = PatchParams::apply(manager).force();
    claims(fixture, version).patch(name, &parameters, &Patch::Apply(claim)).await.unwrap();
}

/// Returns the versions in the managedFields of a claim, each with its manager.
async fn managers(fixture: &Fixture, name: &str) -> Vec<String> {
    let claim = claims(fixture, "v1beta2").get(name).await.unwrap();
    let text =
        |version: Option<String>| version.unwrap().trim_start_matches("ipam.cluster.x-k8s.io/").to_owned();
    let fields = claim.metadata.managed_fields.unwrap_or_default();
    fields
        .into_iter()
        .map(|entry| format!("{} {}", entry.manager.unwrap(), text(entry.api_version)))
        .collect()
}

fn observed(definition: &CustomResourceDefinition) -> bool {
    let annotations = definition.metadata.annotations.as_ref();
    let observed = annotations.and_then(|annotations| annotations.get(OBSERVED_GENERATION));
    observed == Some(&definition.metadata.generation.unwrap().to_string())
}

/// Waits until the current generation of the definition is migrated; each planned kill ends the controllers, and they start again.
async fn migrated(fixture: &mut Fixture) -> CustomResourceDefinition {
    for _ in 0..1_000 {
        let definition = definition(fixture).await;
        if observed(&definition) {
            return definition;
        }
        let requests = fixture.requests.clone();
        tokio::select! {
            biased;
            () = requests.killed() => fixture.restart().await,
            () = tokio::time::sleep(std::time::Duration::from_millis(100)) => {}
        }
    }
    panic!("the definition is not migrated");
}

/// Objects of v1beta1 are stored, v1beta2 becomes the storage version, v1beta1 is no longer served, and at last it is removed.
async fn run(kill: Option<(u64, Moment)>) -> u64 {
    let mut fixture = Fixture::new(GROUPS, |_| ()).await;
    set(&fixture, &[("v1beta2", "storage", false), ("v1beta1", "storage", true)]).await;
    apply(&fixture, "v1beta1", "old", "a").await;
    apply(&fixture, "v1beta1", "old", "b").await;
    apply(&fixture, "v1beta2", "new", "b").await;
    set(&fixture, &[("v1beta2", "storage", true), ("v1beta1", "storage", false)]).await;
    let stored = definition(&fixture).await.status.unwrap().stored_versions.unwrap();
    assert_eq!(stored, ["v1beta2", "v1beta1"]);
    if let Some((write, moment)) = kill {
        fixture.requests.plan(Kill { write, moment });
    }
    fixture.start = Box::new(start);
    fixture.restart().await;
    let after = migrated(&mut fixture).await;
    assert_eq!(after.status.unwrap().stored_versions.unwrap(), ["v1beta2"]);
    assert_eq!(managers(&fixture, "b").await, ["new v1beta2", "old v1beta1"], "both versions are served");

    set(&fixture, &[("v1beta1", "served", false)]).await;
    migrated(&mut fixture).await;
    assert_eq!(managers(&fixture, "b").await, ["new v1beta2"]);
    assert_eq!(managers(&fixture, "a").await, ["old v1beta2"]);
    let value = serde_json::to_value(definition(&fixture).await).unwrap();
    let versions: Vec<&Value> = value["spec"]["versions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|version| version["name"] != "v1beta1")
        .collect();
    let mut changed = value.clone();
    changed["spec"]["versions"] = json!(versions);
    let changed: CustomResourceDefinition = serde_json::from_value(changed).unwrap();
    definitions(&fixture).replace(NAME, &Default::default(), &changed).await.unwrap();
    migrated(&mut fixture).await;
    let claim = claims(&fixture, "v1beta2").get("a").await.unwrap();
    assert_eq!(claim.data["spec"]["poolRef"]["name"], "pool");
    // The next apply of the same manager owns what it applies.
    apply(&fixture, "v1beta2", "old", "a").await;
    assert_eq!(managers(&fixture, "a").await, ["old v1beta2"]);

    let writes = fixture.requests.writes();
    fixture.restart().await;
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    assert_eq!(fixture.requests.writes(), writes, "nothing is written at rest");
    writes
}

#[tokio::test(start_paused = true)]
async fn objects_follow_their_definition_wherever_the_process_ends() {
    let writes = run(None).await;
    assert!(writes >= 6, "{writes}");
    for write in 1..=writes {
        for moment in [Moment::Before, Moment::After] {
            run(Some((write, moment))).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_never_changed_is_left_alone() {
    let fixture = Fixture::new(GROUPS, start).await;
    apply(&fixture, "v1beta1", "old", "a").await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(fixture.requests.writes(), 0);
}

fn versions(all: &[(&str, bool, bool)], stored: &[&str]) -> CustomResourceDefinition {
    let versions: Vec<Value> = all
        .iter()
        .map(|(name, served, storage)| json!({"name": name, "served": served, "storage": storage, "subresources": {"status": {}}}))
        .collect();
    serde_json::from_value(json!({
        "metadata": {"name": "as.g", "generation": 3},
        "spec": {"group": "g", "scope": "Namespaced", "names": {"kind": "A", "plural": "as"}, "versions": versions},
        "status": {"storedVersions": stored},
    }))
    .unwrap()
}

#[test]
fn what_is_to_do_for_a_definition() {
    let due = |metadata: Value| is_due(&serde_json::from_value::<ObjectMeta>(metadata).unwrap());
    assert!(!due(json!({})) && !due(json!({"generation": 1})) && due(json!({"generation": 2})));
    assert!(!due(json!({"generation": 2, "annotations": {OBSERVED_GENERATION: "2"}})));
    assert!(due(json!({"generation": 3, "annotations": {OBSERVED_GENERATION: "2"}})));

    let both: &[(&str, bool, bool)] = &[("v1", true, false), ("v2", true, true)];
    for (stored, rewrites) in [(&["v2"][..], false), (&["v1"], true), (&["v1", "v2"], true), (&[], true)] {
        let task = task(&versions(both, stored)).unwrap();
        assert_eq!(
            (task.rewrites, task.resource.version.as_str(), task.has_status),
            (rewrites, "v2", true),
            "{stored:?}"
        );
    }
    assert!(task(&versions(&[("v1", true, false), ("v2", false, true)], &["v2"])).is_err());
}

#[test]
fn managed_fields_of_versions_that_are_not_served() {
    let task = task(&versions(&[("v1", false, false), ("v2", true, true)], &["v2"])).unwrap();
    let entry = |manager: &str, version: &str| json!({"manager": manager, "operation": "Apply", "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}});
    let kept = |entries: &[Value]| {
        let object: ObjectMeta = serde_json::from_value(json!({"managedFields": entries})).unwrap();
        let cleaned = cleaned(&object, &task, chrono::DateTime::UNIX_EPOCH);
        cleaned.map(|entries| serde_json::to_value(entries).unwrap())
    };
    assert_eq!(kept(&[]), None);
    assert_eq!(kept(&[entry("a", "g/v2")]), None);
    assert_eq!(kept(&[entry("a", "g/v2"), entry("b", "g/v1")]), Some(json!([entry("a", "g/v2")])));
    let seed = json!([{"manager": "b", "operation": "Apply", "apiVersion": "g/v2", "fieldsType": "FieldsV1",
        "time": "1970-01-01T00:00:00Z", "fieldsV1": {"f:metadata": {"f:name": {}}}}]);
    assert_eq!(kept(&[entry("b", "g/v1"), entry("c", "g/v0")]), Some(seed));
}
