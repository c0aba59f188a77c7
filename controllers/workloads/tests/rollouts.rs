//! The rollouts of Deployments, and their status.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentSpec, DeploymentStatus, DeploymentStrategy, ReplicaSet, ReplicaSetSpec,
    ReplicaSetStatus, RollingUpdateDeployment,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;
use workloads::deployment::rollout::{first, rollout};

fn set(name: &str, wanted: i32, runs: i32, is_available: i32) -> Arc<ReplicaSet> {
    Arc::new(ReplicaSet {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        spec: ReplicaSetSpec { replicas: Some(wanted), ..ReplicaSetSpec::default() },
        status: Some(ReplicaSetStatus {
            replicas: runs,
            available_replicas: Some(is_available),
            ..ReplicaSetStatus::default()
        }),
    })
}

fn spec(replicas: i32, kind: &str, surge: i32, unavailable: i32) -> DeploymentSpec {
    DeploymentSpec {
        replicas: Some(replicas),
        strategy: Some(DeploymentStrategy {
            type_: Some(kind.to_owned()),
            rolling_update: Some(RollingUpdateDeployment {
                max_surge: Some(IntOrString::Int(surge)),
                max_unavailable: Some(IntOrString::Int(unavailable)),
            }),
        }),
        ..DeploymentSpec::default()
    }
}

#[test]
fn pods_move_from_one_template_to_the_next() {
    let rolling = spec(1, "RollingUpdate", 1, 0);
    let recreate = spec(1, "Recreate", 0, 0);
    let three = spec(3, "RollingUpdate", 1, 1);
    let scaled = |spec: &DeploymentSpec, current: Arc<ReplicaSet>, old: Vec<Arc<ReplicaSet>>| {
        let plan = rollout(spec, Some(&current), &old);
        plan.into_iter().map(|(set, to)| (set.metadata.name.clone().unwrap(), to)).collect::<Vec<_>>()
    };
    let names =
        |all: &[(&str, i32)]| all.iter().map(|(name, to)| ((*name).to_owned(), *to)).collect::<Vec<_>>();
    for (spec, current, old, expected) in [
        // The old Pod stays until the new one is available.
        (&rolling, set("new", 1, 1, 0), vec![set("old", 1, 1, 1)], &[][..]),
        (&rolling, set("new", 1, 1, 1), vec![set("old", 1, 1, 1)], &[("old", 0)]),
        // An old Pod that is not available holds nothing up.
        (&rolling, set("new", 1, 1, 0), vec![set("old", 1, 1, 0)], &[("old", 0)]),
        // With Recreate, the new Pod waits until the old one is gone.
        (&recreate, set("new", 0, 0, 0), vec![set("old", 1, 1, 1)], &[("old", 0)]),
        (&recreate, set("new", 0, 0, 0), vec![set("old", 0, 1, 0)], &[]),
        (&recreate, set("new", 0, 0, 0), vec![set("old", 0, 0, 0)], &[("new", 1)]),
        // Three Pods: at most four at once, at least two available.
        (&three, set("new", 1, 1, 0), vec![set("old", 3, 3, 3)], &[("old", 2)]),
        (&three, set("new", 2, 2, 2), vec![set("old", 2, 2, 2)], &[("old", 0)]),
        (&three, set("new", 2, 2, 2), vec![set("old", 0, 0, 0)], &[("new", 3)]),
        (&three, set("new", 5, 5, 5), vec![], &[("new", 3)]),
    ] {
        assert_eq!(scaled(spec, current.clone(), old), names(expected), "{current:?}");
    }
    assert_eq!(first(&rolling, &[set("old", 1, 1, 1)]), 1);
    assert_eq!(first(&recreate, &[set("old", 1, 1, 1)]), 0);
    assert_eq!(first(&three, &[set("old", 3, 3, 3)]), 1);
    assert_eq!(first(&three, &[]), 3);
}

#[test]
fn a_patch_removes_what_is_zero_now() {
    let with = |status: DeploymentStatus| json!(Deployment { status: Some(status), ..Deployment::default() });
    let running = DeploymentStatus {
        replicas: Some(1),
        updated_replicas: Some(1),
        ready_replicas: Some(1),
        available_replicas: Some(1),
        ..DeploymentStatus::default()
    };
    let status = DeploymentStatus { unavailable_replicas: Some(1), ..DeploymentStatus::default() };
    let expected = json!({
        "replicas": null, "updatedReplicas": null, "readyReplicas": null, "availableReplicas": null,
        "unavailableReplicas": 1,
    });
    assert_eq!(engine::patch::difference(&with(running), &with(status)).status, Some(expected));
}
