use serde_json::{Value, json};

use super::*;

fn read<K: serde::de::DeserializeOwned>(value: Value) -> Arc<K> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

/// A DevMachine; the words say what is special about it.
fn member(name: &str, words: &[&str]) -> Member {
    let version = if words.contains(&"old") { "v1.35.0" } else { "v1.36.0" };
    let mut dev =
        json!({"metadata": {"name": name, "annotations": {KUBERNETES_VERSION: version}}, "spec": {}});
    if !words.contains(&"starting") {
        dev["spec"]["providerID"] = format!("in-memory://{name}").into();
    }
    let mut machine = json!({"metadata": {"name": name}});
    if !words.contains(&"sick") && !words.contains(&"starting") {
        machine["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    }
    if words.contains(&"asked") {
        machine["metadata"]["annotations"] = json!({DELETE_MACHINE: ""});
    }
    if words.contains(&"going") {
        machine["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z".into();
    }
    Member { dev: read(dev), machine: (!words.contains(&"alone")).then(|| read(machine)) }
}

fn observed(replicas: i32, members: Vec<Member>) -> Observed {
    let template = json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {"version": "v1.36.0", "bootstrap": {"dataSecretName": "data"}}});
    Observed {
        dev: read(
            json!({"metadata": {"name": "pool", "namespace": "default", "uid": "u", "finalizers": [MACHINE_POOL_FINALIZER]},
            "spec": {"backend": {"inMemory": {}}}}),
        ),
        pool: read(json!({"metadata": {"name": "workers", "namespace": "default"},
            "spec": {"clusterName": "plain", "replicas": replicas, "template": template}})),
        cluster: read(
            json!({"metadata": {"name": "plain"}, "status": {"initialization": {"infrastructureProvisioned": true}}}),
        ),
        members,
        orphans: Vec::new(),
        names: (0..9).map(|number| format!("new-{number}")).collect(),
    }
}

/// What the plan creates (`+`) and deletes (`-`, and `x` without a Machine).
fn steps(plan: &Plan) -> String {
    let name = |name: &Option<String>| name.clone().unwrap();
    let created = plan.create.iter().map(|it| format!("+{}", name(&it.metadata.name)));
    let machines = plan.delete_machines.iter().map(|it| format!("-{}", name(&it.metadata.name)));
    let alone = plan.delete.iter().map(|it| format!("x{}", name(&it.metadata.name)));
    created.chain(machines).chain(alone).collect::<Vec<_>>().join(" ")
}

#[test]
fn which_machines_come_and_go() {
    let plain = || vec![member("a", &[]), member("b", &[])];
    let rows: [(&str, i32, Vec<Member>, &str); 11] = [
        ("from nothing", 2, vec![], "+new-0 +new-1"),
        ("enough", 2, plain(), ""),
        ("more", 3, plain(), "+new-0"),
        ("fewer", 1, plain(), "-a"),
        ("the one that is asked for", 1, vec![member("a", &[]), member("b", &["asked"])], "-b"),
        ("the sick one first", 1, vec![member("a", &[]), member("b", &["sick"])], "-b"),
        ("without a Machine yet", 1, vec![member("a", &[]), member("b", &["alone"])], "xb"),
        ("one that goes is replaced", 2, vec![member("a", &["going"]), member("b", &[])], "+new-0"),
        ("another version, one at a time", 2, vec![member("a", &["old"]), member("b", &["old"])], "-a"),
        ("another version, while one starts", 2, vec![member("a", &["old"]), member("b", &["starting"])], ""),
        (
            "another version, while one goes",
            2,
            vec![member("a", &["old"]), member("b", &[]), member("c", &["old", "going"])],
            "",
        ),
    ];
    for (what, replicas, members, expected) in rows {
        assert_eq!(steps(&plan(&observed(replicas, members), now())), expected, "{what}");
    }
}

#[test]
fn nothing_starts_without_cluster_and_bootstrap_data() {
    let base = observed(1, vec![]);
    let cluster = Observed { cluster: read(json!({"metadata": {"name": "plain"}})), ..base.clone() };
    let mut pool = base.pool.as_ref().clone();
    pool.spec.template.spec.bootstrap.data_secret_name = None;
    let data = Observed { pool: Arc::new(pool), ..base };
    for observed in [cluster, data] {
        assert_eq!(steps(&plan(&observed, now())), "");
    }
}

#[test]
fn a_new_machine_has_the_labels_of_the_contract() {
    let plan = plan(&observed(1, vec![]), now());
    let machine = serde_json::to_value(&plan.create[0]).unwrap();
    let expected =
        json!({"a": "b", "cluster.x-k8s.io/cluster-name": "plain", "cluster.x-k8s.io/pool-name": "workers"});
    assert_eq!(machine["metadata"]["labels"], expected);
    assert_eq!(machine["metadata"]["annotations"], json!({"c": "d", KUBERNETES_VERSION: "v1.36.0"}));
    assert_eq!(machine["metadata"]["ownerReferences"][0]["kind"], "DevMachinePool");
    assert!(machine["metadata"]["ownerReferences"][0]["controller"].is_null());
    assert_eq!(machine["spec"]["backend"], json!({"inMemory": {}}));
}

#[test]
fn the_status_tells_what_there_is() {
    let wanted = plan(&observed(2, vec![member("b", &[]), member("a", &["starting"])]), now()).wanted;
    assert_eq!(wanted.spec.provider_id_list, ["in-memory://b"]);
    let status = wanted.status.unwrap();
    assert_eq!((status.replicas, status.ready), (Some(2), None));
    assert_eq!(status.infrastructure_machine_kind.as_deref(), Some("DevMachine"));
    assert_eq!(status.instances[0].instance_name.as_deref(), Some("a"));
    let message = |status: &schemas::infrastructure::DevMachinePoolStatus| {
        status.conditions.iter().find(|it| it.type_ == "Ready").unwrap().message.clone()
    };
    assert_eq!(message(&status), "1 of 2 machines are provisioned");
    let full = plan(&observed(1, vec![member("a", &[])]), now()).wanted.status.unwrap();
    assert_eq!((full.ready, message(&full)), (Some(true), String::new()));
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
    let orphan = member("d", &[]).machine.unwrap();
    let orphans = deleting(Observed { orphans: vec![orphan], ..observed(3, vec![]) });
    assert_eq!(steps(&orphans), "-d");
    let gone = deleting(observed(3, vec![])).wanted;
    assert!(gone.metadata.finalizers.is_none_or(|it| it.is_empty()));
}
