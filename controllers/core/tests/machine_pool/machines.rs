//! The Machines of a MachinePool.

use engine::steps::{Apply, Patch};

use super::*;

fn applied(plan: &Plan) -> Vec<&Machine> {
    plan.steps.of::<Apply<Machine>>().map(|apply| &apply.wanted).collect()
}

fn of_machines() -> Reference {
    infrastructure(json!({"ready": true, "replicas": 2, "infrastructureMachineKind": "Host"}))
}

#[test]
fn each_object_of_the_infrastructure_gets_a_machine() {
    let parts = vec![part("x", json!({"spec": {"providerID": "a"}})), part("y", json!({}))];
    let observed = Observed { infrastructure: of_machines(), parts, ..observed(pool(&[])) };
    let plan = plan(&observed);
    let machines: Vec<Value> =
        applied(&plan).into_iter().map(|machine| serde_json::to_value(machine).unwrap()).collect();
    assert_eq!(machines.len(), 2);
    let expected =
        json!({"a": "b", "cluster.x-k8s.io/cluster-name": "plain", "cluster.x-k8s.io/pool-name": "workers"});
    assert_eq!(machines[0]["metadata"]["labels"], expected);
    assert_eq!(machines[0]["metadata"]["annotations"], json!({"c": "d"}));
    let owner = &machines[0]["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["controller"]), (&json!("MachinePool"), &json!(true)));
    let spec = json!({"clusterName": "plain", "bootstrap": {"dataSecretName": ""}, "version": "v1.36.0",
        "infrastructureRef": {"apiGroup": "infra", "kind": "Host", "name": "x"}});
    assert_eq!(machines[0]["spec"], spec);
    assert_eq!(machines[1]["spec"]["version"], json!(null), "it has no Node yet");
}

#[test]
fn a_long_name_is_hashed_in_the_label() {
    let name = "a".repeat(70);
    let observed =
        Observed { parts: vec![part("x", json!({}))], ..observed(pool(&[("/metadata/name", json!(name))])) };
    let plan = plan(&observed);
    let labels = applied(&plan)[0].metadata.labels.clone().unwrap();
    assert_eq!(labels["cluster.x-k8s.io/pool-name"], schemas::naming::label_value(&name));
    assert!(labels["cluster.x-k8s.io/pool-name"].starts_with("hash_"));
}

#[test]
fn what_goes_gets_no_machine_again() {
    let going = json!({"metadata": {"deletionTimestamp": EPOCH, "finalizers": ["x"]}});
    let gone = ("/metadata/deletionTimestamp", json!(EPOCH));
    let rows = [
        ("new", vec![], json!({}), vec![], 1),
        ("known", vec![machine("x", &[])], json!({}), vec![], 1),
        ("the object goes", vec![], going, vec![], 0),
        ("the Machine goes", vec![machine("x", std::slice::from_ref(&gone))], json!({}), vec![], 0),
        ("the MachinePool goes", vec![], json!({}), vec![gone], 0),
    ];
    for (what, machines, rest, changes, expected) in rows {
        let parts = vec![part("x", rest)];
        let plan = plan(&Observed { machines, parts, ..observed(pool(&changes)) });
        assert_eq!(applied(&plan).len(), expected, "{what}");
    }
}

#[test]
fn a_known_version_stays_while_the_node_is_out_of_reach() {
    let machines = vec![machine("x", &[("/spec/version", json!("v1.35.0"))])];
    let parts = vec![part("x", json!({"spec": {"providerID": "a"}}))];
    let base = Observed { machines, parts, ..observed(pool(&[])) };
    let version = |observed: &Observed| applied(&plan(observed))[0].spec.version.clone().unwrap();
    assert_eq!(version(&base), "v1.36.0");
    assert_eq!(version(&Observed { nodes: None, ..base.clone() }), "v1.35.0");
    assert_eq!(applied(&plan(&base))[0].metadata.uid.as_deref(), Some("x"));
}

#[test]
fn machines_are_up_to_date_until_they_are_deleted() {
    let gone = ("/metadata/deletionTimestamp", json!(EPOCH));
    let condition = |status: &str, reason: &str| {
        (
            "/status/conditions",
            json!([{"type": "UpToDate", "status": status, "reason": reason, "message": "", "lastTransitionTime": EPOCH}]),
        )
    };
    let rows = [
        ("new", vec![], vec![], Some("UpToDate")),
        ("known", vec![condition("True", "UpToDate")], vec![], None),
        ("the Machine goes", vec![gone.clone(), condition("True", "UpToDate")], vec![], Some("NotUpToDate")),
        ("the MachinePool goes", vec![condition("True", "UpToDate")], vec![gone], Some("NotUpToDate")),
    ];
    for (what, of_machine, of_pool, expected) in rows {
        let machines = vec![machine("x", &of_machine)];
        let plan = plan(&Observed { machines, ..observed(pool(&of_pool)) });
        let reasons = plan.steps.of::<Patch<Machine>>().map(|patch| {
            let wanted = serde_json::to_value(&patch.wanted).unwrap();
            wanted["status"]["conditions"][0]["reason"].as_str().unwrap().to_owned()
        });
        assert_eq!(reasons.collect::<Vec<_>>(), Vec::from_iter(expected), "{what}");
    }
}

#[test]
fn objects_that_cannot_be_read_are_an_error() {
    let observed = Observed { parts_error: Some("no".to_owned()), ..observed(pool(&[])) };
    assert_eq!(plan(&observed).errors, ["no"]);
}
