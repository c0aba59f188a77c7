//! Tests of `simulated::workload::symptoms`.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use simulated::workload::symptoms::{NOT_READY, NodeHealth, UNREACHABLE, volumes};

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
}

#[test]
fn conditions_change_and_heal() {
    let ready = NodeHealth::Ready.conditions_of(&[], at(0));
    let foreign = [ready.as_slice(), &[json!({"type": "Foreign", "status": "True"})]].concat();
    let texts = |conditions: &[Value]| -> Vec<String> {
        let text =
            |it: &Value| format!("{}={}", it["type"].as_str().unwrap(), it["status"].as_str().unwrap());
        conditions.iter().map(text).collect()
    };
    let sick = NodeHealth::NotReady.conditions_of(&foreign, at(60));
    assert_eq!(
        texts(&sick),
        ["Foreign=True", "MemoryPressure=False", "DiskPressure=False", "PIDPressure=False", "Ready=False"]
    );
    assert_eq!(sick[1], ready[0], "what does not change keeps its times");
    assert_ne!(sick[4]["lastTransitionTime"], ready[3]["lastTransitionTime"]);
    let stopped = NodeHealth::Unreachable.conditions_of(&ready, at(60));
    assert!(stopped.iter().all(|it| it["status"] == "Unknown" && it["reason"] == "NodeStatusUnknown"));
    assert_eq!(texts(&NodeHealth::Ready.conditions_of(&stopped, at(90))), texts(&ready));
    assert_eq!(NodeHealth::Unreachable.conditions_of(&stopped, at(90)), stopped);
}

#[test]
fn taints_are_those_of_the_node_lifecycle_controller() {
    let own = vec![json!({"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"})];
    let stopped = NodeHealth::Unreachable.taints_of(&own, at(0));
    let keys: Vec<(&str, &str)> = stopped
        .iter()
        .map(|taint| (taint["key"].as_str().unwrap(), taint["effect"].as_str().unwrap()))
        .collect();
    assert_eq!(keys[1..], [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]);
    assert_eq!(NodeHealth::Unreachable.taints_of(&stopped, at(9)), stopped);
    assert_eq!(NodeHealth::NotReady.taints_of(&stopped, at(9))[1]["key"], NOT_READY);
    assert_eq!(NodeHealth::Ready.taints_of(&stopped, at(9)), own);
}

#[test]
fn foreign_volumes_stay() {
    let foreign = json!({"name": "kubernetes.io/csi/a^b", "devicePath": ""});
    let node = json!({"status": {"volumesAttached": [foreign]}});
    let attached = volumes(&node, "a", true);
    assert_eq!(attached.len(), 2);
    let node = json!({"status": {"volumesAttached": attached}});
    assert_eq!(volumes(&node, "a", true), attached);
    assert_eq!(volumes(&node, "a", false), [foreign]);
}
