//! Whether clusters are as they are wanted now. Pure.

use serde_json::Value;

use super::conditions::{condition, is_paused, is_true};
use super::model::{CHANGES, Objects, TOPOLOGY};
use super::pools;

/// Returns whether there is at least one cluster, and this condition of all clusters is true of what is wanted now. Of a paused cluster only
/// its last status is known.
pub fn all_have(objects: &Objects, condition_type: &str) -> bool {
    let has = |cluster| match is_paused(cluster) {
        true => is_true(cluster, condition_type),
        false => is_observed(cluster) && is_true_now(cluster, condition_type),
    };
    !objects.clusters.is_empty() && objects.clusters.iter().all(has)
}

/// Returns whether the controller of an object has seen what is wanted now, as far as the object says that.
fn is_observed(object: &Value) -> bool {
    is_of_generation(object, &object["status"]["observedGeneration"])
}

/// Returns whether a condition is true, and is not about what was wanted before.
fn is_true_now(object: &Value, condition_type: &str) -> bool {
    let observed = |condition: &Value| is_of_generation(object, &condition["observedGeneration"]);
    is_true(object, condition_type) && condition(object, condition_type).is_some_and(observed)
}

fn is_of_generation(object: &Value, observed: &Value) -> bool {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    observed.as_i64().is_none_or(|observed| observed >= generation)
}

/// Returns whether there is at least one cluster, all clusters are Available, and the controllers have confirmed it since they started: what
/// is stored may be the state before.
pub fn all_available(objects: &Objects) -> bool {
    all_have(objects, "Available") && objects.unconfirmed.is_confirmed()
}

/// Returns whether all clusters are Available and none is changing: they have all their machines, each Ready, and all objects that follow
/// from their classes.
pub fn all_at_rest(objects: &Objects) -> bool {
    let is_moving =
        |object: &Value| !is_observed(object) || CHANGES.iter().any(|change| is_true(object, change));
    let mut clusters = objects.clusters.iter().filter(|cluster| !is_paused(cluster));
    // A Cluster learns of a change of these from their status.
    let parts = [&objects.control_planes, &objects.machine_deployments, &objects.machine_sets];
    all_available(objects)
        && !clusters.any(|cluster| is_moving(cluster) || waits_for_topology(cluster))
        && !parts.into_iter().flatten().any(is_moving)
        && objects.machine_pools.iter().all(is_observed)
        && objects.machine_pools.iter().all(pools::is_complete)
        && objects.machines.iter().all(is_settled)
}

/// Returns whether a Machine is Ready, with its Node, and stays.
fn is_settled(machine: &Value) -> bool {
    machine["status"]["nodeRef"]["name"].is_string()
        && is_true_now(machine, "Ready")
        && !machine["metadata"]["deletionTimestamp"].is_string()
}

/// Returns whether a change of the topology, if there is one, has not reached all objects yet.
fn waits_for_topology(cluster: &Value) -> bool {
    let is_reconciled = |condition: &Value| {
        condition["status"] == "True" && condition["observedGeneration"] == cluster["metadata"]["generation"]
    };
    cluster["spec"]["topology"].is_object() && !condition(cluster, TOPOLOGY).is_some_and(is_reconciled)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            assert_eq!(
                all_at_rest(&with(condition.clone(), machine.clone())),
                expected,
                "{condition} {machine}"
            );
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
                let parts = [
                    &mut objects.control_planes,
                    &mut objects.machine_deployments,
                    &mut objects.machine_sets,
                ];
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
}
