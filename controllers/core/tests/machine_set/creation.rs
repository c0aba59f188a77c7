//! Which Machines are created and deleted, and with which names and objects.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use cluster_core::Reference;
use cluster_core::machine_set::{FINALIZER, plan};
use serde_json::{Value, json};

use super::{
    CLUSTER_NAME, CORE, SET_NAME, applied, deleted, external, machine, observed, of_deployment, set, with,
};

#[test]
fn a_machine_comes_with_its_objects() {
    let changed = with(
        set(),
        json!({"/spec/template/spec/failureDomain": "fd", "/spec/template/spec/minReadySeconds": 5,
            "/metadata/labels": {"cluster.x-k8s.io/deployment-name": "md"}}),
    );
    let plan = plan(&observed(&with(changed, of_deployment()), Vec::new()));
    assert!(plan.errors.is_empty(), "{:?}", plan.errors);
    assert_eq!(plan.steps.texts(), ["create Machine default/set-aaaaa"]);
    let new = plan.steps.own().next().unwrap();
    let name = Some("set-aaaaa".to_owned());
    let labels = json!({"pool": "a", CLUSTER_NAME: "plain", SET_NAME: "set", "cluster.x-k8s.io/deployment-name": "md"});
    let parts = [&new.bootstrap.as_ref().unwrap().0, &new.infrastructure.0];
    for part in parts {
        assert_eq!(part.metadata.name, name);
        assert_eq!(json!(part.metadata.labels), labels);
        assert_eq!(part.metadata.annotations.as_ref().unwrap()["note"], "x");
        let owner = &part.metadata.owner_references.as_ref().unwrap()[0];
        assert_eq!((owner.uid.as_str(), owner.controller), ("set", None), "until the Machine takes it over");
    }
    let kinds = parts.map(|part| part.types.as_ref().unwrap().kind.clone());
    assert_eq!(kinds, ["KubeadmConfig", "DevMachine"]);
    let machine = &new.machine;
    assert_eq!(machine.metadata.name, name);
    assert_eq!(json!(machine.metadata.labels), labels);
    assert_eq!(
        machine.metadata.finalizers.as_deref(),
        Some(["machine.cluster.x-k8s.io".to_owned()].as_slice())
    );
    let owner = &machine.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!((owner.uid.as_str(), owner.controller), ("set", Some(true)));
    let spec = &machine.spec;
    assert_eq!((spec.version.as_deref(), spec.failure_domain.as_deref()), (Some("v1.36.0"), Some("fd")));
    assert_eq!(spec.min_ready_seconds, Some(5));
    assert_eq!(
        (spec.infrastructure_ref.kind.as_str(), spec.infrastructure_ref.name.as_str()),
        ("DevMachine", "set-aaaaa")
    );
    assert_eq!(spec.bootstrap.config_ref.as_ref().unwrap().kind, "KubeadmConfig");
}

#[test]
fn names_of_machines() {
    let long = "x".repeat(70);
    // Columns: naming template, name of the set, name of the Machine; `None` for an error that names the template.
    let rows: [(Option<&str>, &str, Option<String>); 6] = [
        (None, "set", Some("set-aaaaa".to_owned())),
        (
            Some("{{ .cluster.name }}-{{.machineSet.name}}-{{ .random }}"),
            "set",
            Some("plain-set-aaaaa".to_owned()),
        ),
        (None, &long, Some(format!("{}aaaaa", "x".repeat(58)))),
        (Some("{{ .machine.name }}-{{ .random }}"), "set", None),
        (Some("{{ .random | upper }}"), "set", None),
        (Some("{{ .random "), "set", None),
    ];
    for (template, own, expected) in rows {
        let naming = json!({"template": template});
        let changed = with(set(), json!({"/metadata/name": own, "/spec/machineNaming": naming}));
        let plan = plan(&observed(&changed, Vec::new()));
        let names: Vec<_> = plan.steps.own().map(|new| new.machine.metadata.name.clone().unwrap()).collect();
        assert_eq!(names, Vec::from_iter(expected.clone()), "{template:?}");
        let begin = format!("spec.machineNaming.template of MachineSet {own} makes no name: ");
        let told = plan.errors.iter().filter(|error| error.contains(&begin)).count();
        assert_eq!(told, usize::from(expected.is_none()), "{:?}", plan.errors);
    }
}

#[test]
fn how_many_machines_there_are() {
    let disable =
        |value: &str| json!({"/metadata/annotations": {"cluster.x-k8s.io/disable-machine-create": value}});
    let replicas = |count: i32| json!({"/spec/replicas": count});
    let going = || machine("going", json!({"/metadata/deletionTimestamp": "2026-11-21T00:30:00Z"}));
    let new = || machine("new", json!({"/metadata/creationTimestamp": "2026-11-21T00:59:00Z"}));
    let one = || machine("a", json!({}));
    // Columns: what, changes of the set, its Machines, how many are created, which are deleted.
    let rows: Vec<(&str, Value, Vec<_>, usize, &[&str])> = vec![
        ("one is missing", json!({}), vec![], 1, &[]),
        ("creation is disabled", disable("true"), vec![], 0, &[]),
        ("creation is not disabled", disable("false"), vec![], 1, &[]),
        ("complete", json!({}), vec![one()], 0, &[]),
        ("the number is not known", json!({"/spec/replicas": null}), vec![one()], 0, &[]),
        ("one too many", json!({}), vec![one(), new()], 0, &["a"]),
        ("the newest first", json!({"/spec/deletion": {"order": "Newest"}}), vec![one(), new()], 0, &["new"]),
        ("one goes already", json!({}), vec![one(), going()], 0, &[]),
        ("all", replicas(0), vec![one(), going()], 0, &["a"]),
    ];
    for (what, changes, machines, created, going) in rows {
        let plan = plan(&observed(&with(set(), changes), machines));
        assert_eq!(plan.steps.own().count(), created, "{what}");
        assert_eq!(deleted(&plan), going, "{what}");
        let is_applied =
            |name: &str| applied(&plan).iter().any(|it| it.metadata.name.as_deref() == Some(name));
        assert!(going.iter().all(|name| !is_applied(name)), "{what}: what goes is not changed before");
    }
}

#[test]
fn templates_that_do_not_exist() {
    let missing = |bootstrap, infrastructure| {
        let mut observed = observed(&set(), Vec::new());
        observed.bootstrap = bootstrap;
        observed.infrastructure = infrastructure;
        let plan = plan(&observed);
        let condition = schemas::HasConditions::condition(&plan.wanted, "ScalingUp").unwrap();
        (plan.steps.own().count(), condition.message.clone(), plan.errors)
    };
    let (created, message, errors) = missing(Reference::NotFound, super::infrastructure());
    assert_eq!((created, errors), (0, vec![]));
    assert!(message.ends_with("is blocked because:\n* KubeadmConfigTemplate does not exist"), "{message}");
    let (created, message, _) = missing(super::bootstrap(json!({})), Reference::NotFound);
    assert!(created == 0 && message.ends_with("* DevMachineTemplate does not exist"), "{message}");
    let (created, _, errors) = missing(super::bootstrap(json!({})), Reference::Failed("refused".to_owned()));
    assert_eq!((created, errors), (0, vec!["refused".to_owned()]));
    let (created, ..) = missing(Reference::None, super::infrastructure());
    assert_eq!(created, 1, "a template that names a Secret with bootstrap data");
}

#[test]
fn what_an_interrupted_creation_left_is_deleted_first() {
    let part = |name: &str, owner: &str, going: Value| {
        let owners = json!([{"apiVersion": CORE, "kind": "MachineSet", "name": owner, "uid": owner}]);
        let changes = json!({"/metadata/name": name, "/metadata/uid": name, "/metadata/ownerReferences": owners,
            "/metadata/deletionTimestamp": going});
        external("infrastructure.cluster.x-k8s.io", "DevMachine", changes)
    };
    let mut observed = observed(&set(), vec![machine("a", json!({}))]);
    observed.parts = vec![
        part("a", "set", json!(null)),
        part("orphan", "set", json!(null)),
        part("other", "other", json!(null)),
        part("going", "set", json!("2026-11-21T00:30:00Z")),
    ];
    let plan = plan(&observed);
    assert_eq!(plan.steps.texts(), ["apply Machine default/a", "delete DevMachine default/orphan"]);
}

#[test]
fn a_set_is_gone_after_its_machines() {
    let going = || {
        with(
            set(),
            json!({"/metadata/deletionTimestamp": "2026-11-21T00:00:00Z", "/metadata/finalizers": [FINALIZER]}),
        )
    };
    let leaving = machine("b", json!({"/metadata/deletionTimestamp": "2026-11-21T00:30:00Z"}));
    let first = plan(&observed(&going(), vec![machine("a", json!({})), leaving]));
    assert_eq!(first.steps.texts(), ["delete Machine default/a"]);
    assert!(first.wanted.metadata.finalizers.is_some());
    let last = plan(&observed(&going(), Vec::new()));
    assert_eq!(last.wanted.metadata.finalizers, None);
    assert!(last.steps.is_empty());
}
