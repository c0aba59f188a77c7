//! Tests of `dev_machine_pools::plan`.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use dev_machine_pools::names::FINALIZER;
use dev_machine_pools::observed::{Member, Observed};
use dev_machine_pools::plan::{Plan, plan};
use dev_machine_pools::{Backend, DOCKER, IN_MEMORY};
use engine::names::{CLUSTER_NAME, DELETE_MACHINE, POOL_NAME};
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::infrastructure::{DevMachine, DevMachinePoolStatus};
use serde_json::{Value, json};

fn read<K: serde::de::DeserializeOwned>(value: Value) -> Arc<K> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

type Part = (Arc<DevMachine>, Option<Arc<Machine>>);

/// A DevMachine, which both backends know; the words say what is special about it.
fn member(name: &str, words: &[&str]) -> Part {
    let version = if words.contains(&"old") { "v1.35.0" } else { "v1.36.0" };
    let docker = json!({"customImage": format!("kindest/node:{version}")});
    let mut dev = json!({"metadata": {"name": name},
        "spec": {"backend": {"docker": docker}}});
    if !words.contains(&"starting") {
        dev["spec"]["providerID"] = format!("test://{name}").into();
        dev["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
        dev["status"]["addresses"] = json!([{"type": "InternalIP", "address": "10.0.0.1"}]);
    }
    if words.contains(&"dead") {
        dev["status"]["conditions"][0]["status"] = "False".into();
    }
    // Those that start are later than the others, unless they have hung from the beginning. Their Nodes have no version.
    let is_late = words.contains(&"starting") && !words.contains(&"old");
    dev["metadata"]["creationTimestamp"] = format!("2026-11-2{}T00:00:00Z", u8::from(is_late)).into();
    let mut machine = json!({"metadata": {"name": name}, "spec": {"version": version}});
    if words.contains(&"starting") {
        machine["spec"] = json!({});
    }
    if !["sick", "starting", "dead"].iter().any(|word| words.contains(word)) {
        machine["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    }
    if words.contains(&"unseen") {
        machine["status"]["conditions"] = json!([{"type": "Ready", "status": "Unknown", "reason": "NotReady"},
            {"type": "NodeReady", "status": "Unknown", "reason": "ConnectionDown"}]);
    }
    if words.contains(&"asked") {
        machine["metadata"]["annotations"] = json!({DELETE_MACHINE: ""});
    }
    if words.contains(&"going") {
        machine["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z".into();
    }
    (read(dev), (!words.contains(&"alone")).then(|| read(machine)))
}

fn of_spec(backend: &dyn Backend, spec: Value, pool: Value, members: Vec<Part>) -> Observed {
    let dev = read(json!({
        "metadata": {"name": "pool", "namespace": "default", "uid": "u", "generation": 3, "finalizers": [FINALIZER]},
        "spec": {"backend": spec},
    }));
    let pool = read(json!({"metadata": {"name": "workers", "namespace": "default"}, "spec": pool}));
    let cluster = read(
        json!({"metadata": {"name": "plain"}, "status": {"initialization": {"infrastructureProvisioned": true}}}),
    );
    Observed {
        names: (0..9).map(|number| format!("new-{number}")).collect(),
        ..Observed::new(backend, (dev, pool, cluster), members)
    }
}

fn of_backend(backend: &dyn Backend, replicas: i32, members: Vec<Part>) -> Observed {
    let template = json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {"version": "v1.36.0", "bootstrap": {"dataSecretName": "data"}}});
    let pool = json!({"clusterName": "plain", "replicas": replicas, "template": template});
    of_spec(backend, json!({"inMemory": {}, "docker": {}}), pool, members)
}

fn observed(replicas: i32, members: Vec<Part>) -> Observed {
    of_backend(IN_MEMORY, replicas, members)
}

/// What the plan creates (`+`) and deletes (`-`, and `x` without a Machine).
fn steps(plan: &Plan) -> String {
    let name = |name: &Option<String>| name.clone().unwrap();
    let created = plan.create.iter().map(|it| format!("+{}", name(&it.metadata.name)));
    let machines = plan.delete_machines.iter().map(|it| format!("-{}", name(&it.metadata.name)));
    let alone = plan.delete.iter().map(|it| format!("x{}", name(&it.metadata.name)));
    created.chain(machines).chain(alone).collect::<Vec<_>>().join(" ")
}

/// The machines of a row: names with the words about each.
type Row = (&'static str, i32, &'static [(&'static str, &'static [&'static str])], &'static str);

const ROWS: &[Row] = &[
    ("from nothing", 2, &[], "+new-0 +new-1"),
    ("enough", 2, &[("a", &[]), ("b", &[])], ""),
    ("more", 3, &[("a", &[]), ("b", &[])], "+new-0"),
    ("fewer", 1, &[("a", &[]), ("b", &[])], "-a"),
    ("the one that is asked for", 1, &[("a", &[]), ("b", &["asked"])], "-b"),
    ("the sick one first", 1, &[("a", &[]), ("b", &["sick"])], "-b"),
    ("without a Machine yet", 1, &[("a", &[]), ("b", &["alone"])], "xb"),
    ("one that goes is replaced", 2, &[("a", &["going"]), ("b", &[])], "+new-0"),
    ("a dead one stays: a health check decides on it", 2, &[("a", &["dead"]), ("b", &[])], ""),
    ("another version: first a new one", 2, &[("a", &["old"]), ("b", &["old"])], "+new-0"),
    ("while it starts", 2, &[("a", &["old"]), ("b", &["old"]), ("c", &["starting"])], ""),
    (
        "an old one that never joined is replaced, too",
        2,
        &[("a", &["old"]), ("b", &["old", "starting"])],
        "+new-0",
    ),
    ("… and goes first", 2, &[("a", &["old"]), ("b", &["old", "starting"]), ("c", &[])], "-b"),
    (
        "while nobody sees them",
        2,
        &[("a", &["old", "unseen"]), ("b", &["old", "unseen"]), ("c", &["starting"])],
        "",
    ),
    ("when it is ready", 2, &[("a", &["old"]), ("b", &["old"]), ("c", &[])], "-a"),
    ("while an old one goes", 2, &[("a", &["old", "going"]), ("b", &["old"]), ("c", &[])], ""),
    ("the next one", 2, &[("b", &["old"]), ("c", &[])], "+new-0"),
    ("a new one that does not get ready ends it", 2, &[("b", &["old"]), ("c", &["sick"])], ""),
    ("a sick old one", 2, &[("a", &["old"]), ("b", &["old", "sick"])], "+new-0"),
    ("a sick old one goes first", 2, &[("a", &["old"]), ("b", &["old", "sick"]), ("c", &[])], "-b"),
    ("fewer meanwhile", 1, &[("a", &["old"]), ("b", &["old"]), ("c", &["starting"])], "-a"),
    ("fewer, but one ready", 1, &[("a", &["old"]), ("c", &["starting"])], ""),
    ("too many new ones", 1, &[("a", &["old"]), ("c", &["starting"]), ("d", &["starting"])], "-c"),
    ("none", 0, &[("a", &["old"]), ("b", &["sick"])], "-b -a"),
];

fn members(row: &[(&str, &[&str])]) -> Vec<Part> {
    row.iter().map(|(name, words)| member(name, words)).collect()
}

#[test]
fn which_machines_come_and_go() {
    for backend in [IN_MEMORY, DOCKER] {
        for (what, replicas, machines, expected) in ROWS {
            let plan = plan(&of_backend(backend, *replicas, members(machines)), now());
            assert_eq!(steps(&plan), *expected, "{what}");
        }
    }
}

#[test]
fn an_owner_reference_that_is_lost_or_old_is_renewed() {
    let reference = |version: &str, uid: &str| {
        json!({"apiVersion": format!("infrastructure.cluster.x-k8s.io/{version}"), "kind": "DevMachinePool",
               "name": "pool", "uid": uid})
    };
    let machine = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "a", "uid": "m", "controller": true});
    for (owners, renewed) in [
        (json!([machine, reference("v1beta2", "u")]), false),
        (json!([machine]), true),
        (json!([machine, reference("v1alpha1", "u")]), true),
        (json!([machine, reference("v1beta2", "before")]), true),
    ] {
        let (dev, of) = member("a", &[]);
        let mut dev = dev.as_ref().clone();
        dev.metadata.owner_references = Some(serde_json::from_value(owners.clone()).unwrap());
        let plan = plan(&observed(1, vec![(Arc::new(dev), of)]), now());
        let wanted = plan.own.iter().map(|(_, wanted)| json!(wanted.metadata.owner_references));
        let expected = json!([machine, reference("v1beta2", "u")]);
        assert_eq!(wanted.collect::<Vec<_>>(), if renewed { vec![expected] } else { vec![] }, "{owners}");
        assert_eq!(steps(&plan), "", "{owners}");
    }
}

#[test]
fn no_plan_that_replaces_leaves_fewer_ready_machines_than_are_wanted() {
    let words: [&[&str]; 6] = [&[], &["starting"], &["sick"], &["old"], &["old", "sick"], &["old", "going"]];
    for number in 0..words.len().pow(4) {
        let digit = |place: u32| number / words.len().pow(place) % words.len();
        let all: Vec<Part> = (0..4).map(|place| member(&format!("m{place}"), words[digit(place)])).collect();
        for wanted in 1..4 {
            let observed = observed(wanted, all.clone());
            let plan = plan(&observed, now());
            let is_deleted = |member: &&Member| {
                let names = plan.delete_machines.iter().map(|machine| &machine.metadata.name);
                names.clone().any(|name| *name == member.dev.metadata.name)
            };
            let ready = |member: &&Member| member.is_ready() && !member.goes();
            let before = observed.members.iter().filter(ready).count();
            let after = observed.members.iter().filter(ready).filter(|it| !is_deleted(it)).count();
            assert!(after >= before.min(observed.wanted()), "{wanted}: {}", steps(&plan));
        }
    }
}

#[test]
fn a_rollout_ends() {
    let mut machines = vec![("a", vec!["old"]), ("b", vec!["old"]), ("c", vec!["old"])];
    for name in ["d", "e", "f"] {
        let parts = machines.iter().map(|(name, words)| member(name, words)).collect();
        assert_eq!(steps(&plan(&observed(3, parts), now())), "+new-0");
        machines.push((name, vec![]));
        let parts = machines.iter().map(|(name, words)| member(name, words)).collect();
        let deleted = steps(&plan(&observed(3, parts), now()));
        machines.retain(|(name, _)| format!("-{name}") != deleted);
        assert_eq!(machines.len(), 3, "{deleted}");
    }
    let parts = machines.iter().map(|(name, words)| member(name, words)).collect();
    assert_eq!(steps(&plan(&observed(3, parts), now())), "");
}

#[test]
fn nothing_starts_without_cluster_and_bootstrap_data() {
    let base = observed(1, vec![]);
    let cluster = Observed { cluster: read(json!({"metadata": {"name": "plain"}})), ..base.clone() };
    let with_data = |name: Option<&str>| {
        let mut pool = base.pool.as_ref().clone();
        pool.spec.template.spec.bootstrap.data_secret_name = name.map(str::to_owned);
        Observed { pool: Arc::new(pool), ..base.clone() }
    };
    for observed in [cluster, with_data(None), with_data(Some(""))] {
        assert_eq!(steps(&plan(&observed, now())), "");
    }
}

#[test]
fn a_new_machine_has_the_labels_of_the_contract() {
    for backend in [IN_MEMORY, DOCKER] {
        let plan = plan(&of_backend(backend, 1, vec![]), now());
        let machine = serde_json::to_value(&plan.create[0]).unwrap();
        let expected = json!({"a": "b", CLUSTER_NAME: "plain", POOL_NAME: "workers"});
        assert_eq!(machine["metadata"]["labels"], expected);
        assert_eq!(machine["metadata"]["annotations"]["c"], "d");
        assert_eq!(machine["metadata"]["ownerReferences"][0]["kind"], "DevMachinePool");
        assert!(machine["metadata"]["ownerReferences"][0]["controller"].is_null());
    }
}

#[test]
fn each_backend_makes_its_own_machines() {
    let simulated = plan(&of_backend(IN_MEMORY, 1, vec![]), now());
    let machine = serde_json::to_value(&simulated.create[0]).unwrap();
    assert_eq!(machine["metadata"]["annotations"], json!({"c": "d"}), "only those of the template");
    assert_eq!(machine["spec"]["backend"], json!({"inMemory": {}}));
    assert_eq!(simulated.wanted.spec.provider_id.as_deref(), Some("in-memory:///default/pool"));

    let pool = json!({"clusterName": "plain", "replicas": 1,
        "template": {"spec": {"version": "v1.36.0+x.1", "bootstrap": {"dataSecretName": "data"}}}});
    let mounts = json!([{"hostPath": "/a", "containerPath": "/b", "readOnly": true}]);
    let spec = json!({"docker": {"preLoadImages": ["web"], "extraMounts": mounts}});
    let container = plan(&of_spec(DOCKER, spec, pool.clone(), vec![]), now());
    let machine = serde_json::to_value(&container.create[0]).unwrap();
    let docker =
        json!({"customImage": "kindest/node:v1.36.0_x.1", "preLoadImages": ["web"], "extraMounts": mounts});
    assert_eq!(machine["spec"]["backend"], json!({"docker": docker}));
    assert!(machine["metadata"]["annotations"].is_null());
    assert_eq!(container.wanted.spec.provider_id.as_deref(), Some("dev:////plain-dmp-pool"));

    let custom = plan(&of_spec(DOCKER, json!({"docker": {"customImage": "mine"}}), pool, vec![]), now());
    assert_eq!(custom.create[0].spec.backend.docker.as_ref().unwrap().custom_image.as_deref(), Some("mine"));
}

#[test]
fn a_pool_without_an_image_says_so_and_keeps_its_machines() {
    let pool = json!({"clusterName": "plain", "replicas": 2,
        "template": {"spec": {"bootstrap": {"dataSecretName": "data"}}}});
    let plan = plan(&of_spec(DOCKER, json!({"docker": {}}), pool, vec![member("a", &[])]), now());
    assert_eq!(steps(&plan), "");
    let (status, message) = said(plan.wanted.status.as_ref().unwrap());
    assert_eq!(status, "False");
    assert!(message.contains("spec.template.spec.version"), "{message}");
}

#[test]
fn another_image_replaces_machines_in_docker_only() {
    let pool = json!({"clusterName": "plain", "replicas": 1,
        "template": {"spec": {"version": "v1.36.0", "bootstrap": {"dataSecretName": "data"}}}});
    let rows = [
        (DOCKER, json!({"docker": {"customImage": "mine"}}), "+new-0"),
        (DOCKER, json!({"docker": {"preLoadImages": ["web"]}}), ""),
        (IN_MEMORY, json!({"inMemory": {"vm": {"provisioning": {"startupDuration": "1s"}}}}), ""),
    ];
    for (backend, spec, expected) in rows {
        let plan = plan(&of_spec(backend, spec.clone(), pool.clone(), vec![member("a", &[])]), now());
        assert_eq!(steps(&plan), expected, "{spec}");
    }
}

/// Returns status and message of `Ready`, which says the same as `ReplicasReady`.
fn said(status: &DevMachinePoolStatus) -> (String, String) {
    let find = |type_: &str| status.conditions.iter().find(|it| it.type_ == type_).unwrap().clone();
    let (ready, replicas) = (find("Ready"), find("ReplicasReady"));
    assert_eq!((&ready.status, &ready.message), (&replicas.status, &replicas.message));
    (ready.status, ready.message)
}

#[test]
fn the_status_tells_what_there_is() {
    let wanted = plan(&observed(2, vec![member("b", &[]), member("a", &["starting"])]), now()).wanted;
    assert_eq!(wanted.spec.provider_id_list, ["test://b"]);
    let status = wanted.status.unwrap();
    assert_eq!((status.replicas, status.ready, status.observed_generation), (Some(2), None, Some(3)));
    assert_eq!(status.infrastructure_machine_kind.as_deref(), Some("DevMachine"));
    let instances = serde_json::to_value(&status.instances).unwrap();
    let first = json!({"instanceName": "a", "ready": false});
    let second = json!({"instanceName": "b", "ready": true, "version": "v1.36.0", "providerID": "test://b",
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]});
    assert_eq!(instances, json!([first, second]));
    assert_eq!(said(&status), ("False".to_owned(), "1 of 2 machines are ready".to_owned()));
    let full = plan(&observed(1, vec![member("a", &[])]), now()).wanted.status.unwrap();
    assert_eq!((full.ready, said(&full)), (Some(true), ("True".to_owned(), String::new())));
}

#[test]
fn the_status_goes_back() {
    let full = plan(&observed(1, vec![member("a", &[])]), now()).wanted;
    let later = |replicas: i32, members: Vec<Part>| {
        let observed = Observed { dev: Arc::new(full.clone()), ..observed(replicas, members) };
        let wanted = plan(&observed, now()).wanted;
        assert!(wanted.condition("Paused").is_some());
        let status = wanted.status.unwrap();
        (status.replicas, status.ready, said(&status).1)
    };
    type Row<'a> = (i32, &'a [(&'a str, &'a [&'a str])], i32, bool, &'a str);
    let rows: [Row<'_>; 5] = [
        (1, &[("a", &["dead"])], 1, true, "0 of 1 machines are ready"),
        (1, &[], 0, false, "0 of 1 machines are ready"),
        (2, &[("a", &[])], 1, false, "1 of 2 machines are ready"),
        (1, &[("a", &["old"]), ("b", &[])], 1, true, "1 of 2 machines are replaced"),
        (1, &[("a", &["going"]), ("b", &[])], 2, true, "1 of 2 machines are removed"),
    ];
    for (wanted, machines, replicas, ready, message) in rows {
        let expected = (Some(replicas), Some(ready), message.to_owned());
        assert_eq!(later(wanted, members(machines)), expected);
    }
}

#[test]
fn a_deletion_ends_when_the_machines_are_gone() {
    let deleting = |observed: Observed| {
        let mut dev = observed.dev.as_ref().clone();
        dev.metadata.deletion_timestamp = Some(engine::time::time(now()));
        plan(&Observed { dev: Arc::new(dev), ..observed }, now())
    };
    let members = vec![member("a", &[]), member("b", &["going"]), member("c", &["alone"])];
    let going = deleting(observed(3, members));
    assert_eq!(steps(&going), "-a xc");
    assert!(going.wanted.metadata.finalizers.is_some_and(|it| !it.is_empty()));
    let orphan = member("d", &[]).1.unwrap();
    let orphans = deleting(Observed { orphans: vec![orphan], ..observed(3, vec![]) });
    assert_eq!(steps(&orphans), "-d");
    let gone = deleting(observed(3, vec![])).wanted;
    assert!(gone.metadata.finalizers.is_none_or(|it| it.is_empty()));
}
