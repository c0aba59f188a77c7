//! Tables over the plan.

use clusterctl::configuration::ProviderType;
use clusterctl::inventory::Installed;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::DynamicObject;
use operator::Referred;
use operator::declared::Declared;
use operator::observe::Observed;
use operator::plan::{Plan, Step, plan};
use serde_json::{Value, json};

fn declared(kind: ProviderType, object: Value) -> Declared {
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    Declared::of(kind, &object).unwrap()
}

fn entry(type_name: &str, name: &str, version: &str, namespace: &str) -> Installed {
    let [type_name, name, version, namespace] = [type_name, name, version, namespace].map(str::to_owned);
    Installed { name, type_name, version, namespace }
}

/// An object with these fields besides its names, in a cluster with a core provider.
fn seen(fields: Value) -> Observed {
    let mut object = json!({
        "metadata": {"name": "garden", "namespace": "a", "creationTimestamp": "2026-11-21T00:00:02Z", "generation": 3},
        "spec": {"fetchConfig": {"url": "https://example/x"}},
    });
    machinery_merge(&mut object, fields);
    Observed {
        object: declared(ProviderType::Infrastructure, object),
        others: Vec::new(),
        in_process: None,
        inventory: vec![entry("CoreProvider", "cluster-api", "v1.14.0", "capi-system")],
        secret: Referred::Unasked,
        maps: Vec::new(),
        manifests: Referred::Unasked,
        deployments: Vec::new(),
        is_known: false,
        digest: "new".to_owned(),
    }
}

fn machinery_merge(target: &mut Value, patch: Value) {
    let body = patch.to_string();
    *target = machinery::patch::merge_patch(target, body.as_bytes()).unwrap().object;
}

/// The same, with the version v0.3.0 installed as the object describes it.
fn installed(fields: Value) -> Observed {
    let mut object = json!({
        "metadata": {"annotations": {"operator.cluster.x-k8s.io/applied-spec-hash": "new"}},
        "status": {"installedVersion": "v0.3.0"},
    });
    machinery_merge(&mut object, fields);
    let mut seen = seen(object);
    seen.inventory.push(entry("InfrastructureProvider", "garden", "v0.3.0", "a"));
    seen
}

fn condition(plan: &Plan, type_: &str) -> (String, String) {
    let found =
        plan.conditions.iter().find(|condition| condition.type_ == type_).cloned().unwrap_or_default();
    (found.status, found.reason)
}

#[test]
fn steps() {
    let old = || entry("InfrastructureProvider", "garden", "v0.3.0", "a");
    let annotated = |name: &str, value: &str| json!({"metadata": {"annotations": {name: value}}});
    let failed = annotated("operator.firstlight.dev/failed-spec-hash", "new");
    let mut upgrade_that_failed = json!({"spec": {"version": "v0.4.0"}});
    machinery_merge(&mut upgrade_that_failed, failed);
    let wants = |version: &str| json!({"spec": {"version": version}});
    for (what, seen, expected) in [
        ("nothing is there", seen(json!({})), Step::Install { is_first: true }),
        ("all is there", installed(json!({})), Step::Rest),
        ("all is there in the wanted version", installed(wants("0.3.0")), Step::Rest),
        ("somebody else has installed it", installed(json!({"status": null})), Step::Adopt(old())),
        (
            "somebody else has upgraded it",
            installed(json!({"status": {"installedVersion": "v0.2.0"}})),
            Step::Adopt(old()),
        ),
        ("a newer version is wanted", installed(wants("v0.4.0")), Step::Upgrade(old())),
        ("an upgrade that failed is wanted", installed(upgrade_that_failed), Step::Rest),
        (
            "something else is wanted",
            installed(annotated("operator.cluster.x-k8s.io/applied-spec-hash", "old")),
            Step::Install { is_first: false },
        ),
        (
            "a Deployment is gone",
            installed(annotated("operator.firstlight.dev/deployments", "manager=1")),
            Step::Install { is_first: false },
        ),
        ("the version is older", installed(wants("v0.2.9")), Step::Rest),
    ] {
        assert_eq!(plan(&seen).step, expected, "{what}");
    }
}

#[test]
fn removal_deletes_only_what_is_the_objects() {
    let goes = json!({"metadata": {"deletionTimestamp": "2026-11-21T00:00:03Z"}});
    let with = |mut fields: Value| {
        machinery_merge(&mut fields, goes.clone());
        fields
    };
    let has_begun = json!({"metadata": {"annotations": {"operator.firstlight.dev/begun": ""}}});
    let removed = |seen: Observed| match plan(&seen).step {
        Step::Remove(installed) => installed.map(|one| one.version),
        other => panic!("{other:?}"),
    };
    assert_eq!(removed(seen(with(json!({})))), None);
    assert_eq!(removed(seen(with(has_begun))), Some(String::new()));
    assert_eq!(removed(installed(with(json!({})))), Some("v0.3.0".to_owned()));
    assert_eq!(removed(installed(with(json!({"status": null})))), None, "somebody else has installed it");
    let mut in_process = installed(with(json!({})));
    in_process.in_process = in_process.entry().cloned();
    assert_eq!(removed(in_process), None);
}

#[test]
fn refusals() {
    let other = |time: &str, namespace: &str, status: Value| {
        let metadata = json!({"name": "garden", "namespace": namespace, "creationTimestamp": time});
        declared(ProviderType::Infrastructure, json!({"metadata": metadata, "status": status}))
    };
    let reason = |seen: &Observed| condition(&plan(seen), "PreflightCheckPassed").1;
    let with = |other: Declared| {
        let mut seen = seen(json!({}));
        seen.others = vec![other];
        reason(&seen)
    };
    assert_eq!(with(other("2026-11-21T00:00:01Z", "z", json!({}))), "MoreThanOneExists", "it is older");
    assert_eq!(with(other("2026-11-21T00:00:03Z", "z", json!({}))), "PreflightChecksPassed", "it is newer");
    let has = json!({"installedVersion": "v0.3.0"});
    assert_eq!(with(other("2026-11-21T00:00:03Z", "z", has)), "MoreThanOneExists", "it has the components");
    let mut elsewhere = seen(json!({}));
    elsewhere.inventory.push(entry("InfrastructureProvider", "garden", "v0.3.0", "b"));
    assert_eq!(reason(&elsewhere), "MoreThanOneExists");
    let mut alone = seen(json!({}));
    alone.inventory.clear();
    assert_eq!(reason(&alone), "WaitingForCoreProviderReady");
    assert_eq!(reason(&seen(json!({"spec": {"fetchConfig": null}}))), "FetchConfigValidationError");
    assert_eq!(reason(&seen(json!({"spec": {"version": "newest"}}))), "IncorrectVersionFormat");
    assert_eq!(
        reason(&installed(json!({"spec": {"version": "v0.2.0"}}))),
        "UnsupportedProviderDowngradeReason"
    );
    let mut core = seen(json!({}));
    core.object = declared(ProviderType::Core, json!({"metadata": {"name": "garden", "namespace": "a"}}));
    assert_eq!(reason(&core), "IncorrectCoreProviderNameReason");
}

#[test]
fn readiness_is_that_of_the_deployments() {
    let deployment = |status: &str, observed: i64| -> Deployment {
        let condition = json!({"type": "Available", "status": status, "reason": "Why", "message": "because"});
        serde_json::from_value(json!({
            "metadata": {"name": "manager", "generation": 2},
            "status": {"observedGeneration": observed, "conditions": [condition]},
        }))
        .unwrap()
    };
    for (deployments, status, reason) in [
        (vec![], "True", "NoDeployment"),
        (vec![deployment("True", 2)], "True", "DeploymentsAvailable"),
        (vec![deployment("True", 2), deployment("False", 2)], "False", "Why"),
        (vec![deployment("True", 1)], "False", "NoDeploymentAvailableConditionReason"),
    ] {
        let mut seen = installed(json!({}));
        seen.deployments = deployments;
        assert_eq!(condition(&plan(&seen), "Ready"), (status.to_owned(), reason.to_owned()));
    }
    let mut waits = seen(json!({}));
    waits.inventory.clear();
    assert_eq!(
        condition(&plan(&waits), "Ready"),
        ("False".to_owned(), "WaitingForCoreProviderReady".to_owned())
    );
}
