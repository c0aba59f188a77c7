//! Tests of `firstlight::tree::rest`.

use firstlight::tree::model::Objects;
use firstlight::tree::rest::{all_at_rest, all_available};
use serde_json::{Value, json};

fn cluster(available: &str) -> Value {
    json!({"kind": "Cluster", "status": {"conditions": [{"type": "Available", "status": available}]}})
}

#[test]
fn at_rest_means_nothing_is_on_its_way() {
    let machine = |node: Value| json!({"status": {"nodeRef": node, "conditions": [{"type": "Ready", "status": "True"}]}});
    let with = |condition: Value, machine: Value| {
        let mut cluster = cluster("True");
        cluster["status"]["conditions"].as_array_mut().unwrap().push(condition);
        Objects { clusters: vec![cluster], machines: vec![machine], ..Objects::default() }
    };
    let node = json!({"name": "one"});
    for (condition, machine, expected) in [
        (json!({"type": "ScalingUp", "status": "False"}), machine(node.clone()), true),
        (json!({"type": "ScalingUp", "status": "True"}), machine(node.clone()), false),
        (json!({"type": "RollingOut", "status": "True"}), machine(node), false),
        (json!({"type": "RollingOut", "status": "False"}), machine(Value::Null), false),
    ] {
        assert_eq!(all_at_rest(&with(condition.clone(), machine.clone())), expected, "{condition} {machine}");
    }
}

#[test]
fn a_machine_that_is_not_ready_or_is_going_is_waited_for() {
    let machine = |ready: &str, observed: i64| {
        json!({"metadata": {"generation": 2}, "status": {"nodeRef": {"name": "one"},
            "conditions": [{"type": "Ready", "status": ready, "observedGeneration": observed}]}})
    };
    let mut going = machine("True", 2);
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    for (machine, expected) in [
        (machine("True", 2), true),
        (machine("False", 2), false),
        (machine("Unknown", 2), false),
        (machine("True", 1), false),
        (going, false),
    ] {
        let objects = Objects {
            clusters: vec![cluster("True")],
            machines: vec![machine.clone()],
            ..Objects::default()
        };
        assert_eq!(all_at_rest(&objects), expected, "{machine}");
        assert!(all_available(&objects));
    }
}

#[test]
fn a_stored_status_counts_when_it_is_confirmed() {
    let mut objects = Objects { clusters: vec![cluster("True")], ..Objects::default() };
    assert!(all_at_rest(&objects));
    objects.unconfirmed.more = 1;
    assert!(!all_available(&objects) && !all_at_rest(&objects));
}

#[test]
fn conditions_of_an_earlier_generation_do_not_count() {
    let observed = |generation: i64, status: Value, condition: Value| {
        let mut cluster = cluster("True");
        cluster["metadata"]["generation"] = generation.into();
        cluster["status"]["observedGeneration"] = status;
        cluster["status"]["conditions"][0]["observedGeneration"] = condition;
        Objects { clusters: vec![cluster], ..Objects::default() }
    };
    for (generation, status, condition, expected) in [
        (2, json!(2), json!(2), true),
        (2, Value::Null, Value::Null, true),
        (2, json!(1), json!(2), false),
        (2, json!(2), json!(1), false),
        (3, Value::Null, json!(2), false),
    ] {
        let objects = observed(generation, status.clone(), condition.clone());
        assert_eq!(all_available(&objects), expected, "{generation} {status} {condition}");
    }
    let mut paused = observed(2, json!(1), json!(1));
    assert!(!all_at_rest(&paused));
    paused.clusters[0]["spec"] = json!({"paused": true});
    assert!(all_at_rest(&paused), "nobody observes what a paused cluster wants");
    for (part, expected) in [
        (json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 2}}), true),
        (json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 1}}), false),
        (json!({"status": {"conditions": [{"type": "ScalingUp", "status": "True"}]}}), false),
    ] {
        for which in 0..3 {
            let mut objects = observed(1, json!(1), json!(1));
            let parts =
                [&mut objects.control_planes, &mut objects.machine_deployments, &mut objects.machine_sets];
            parts[which].push(part.clone());
            assert_eq!(all_at_rest(&objects), expected, "{which}: {part}");
        }
    }
}

#[test]
fn at_rest_means_that_the_topology_is_reconciled() {
    for (status, observed, expected) in [("True", 2, true), ("True", 1, false), ("False", 2, false)] {
        let mut cluster = cluster("True");
        cluster["metadata"]["generation"] = json!(2);
        cluster["spec"] = json!({"topology": {"version": "v1.36.0"}});
        let reconciled =
            json!({"type": "TopologyReconciled", "status": status, "observedGeneration": observed});
        cluster["status"]["conditions"].as_array_mut().unwrap().push(reconciled);
        let objects = Objects { clusters: vec![cluster], ..Objects::default() };
        assert_eq!(all_at_rest(&objects), expected, "{status} {observed}");
    }
}

#[test]
fn available_means_every_cluster() {
    let mut objects = Objects { clusters: vec![cluster("True")], ..Objects::default() };
    assert!(all_available(&objects));
    objects.clusters.push(cluster("Unknown"));
    assert!(!all_available(&objects));
    assert!(!all_available(&Objects::default()));
}
