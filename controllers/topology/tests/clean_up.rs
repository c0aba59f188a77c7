//! Which templates go with MachineDeployments and MachineSets of topologies.

use std::sync::Arc;

use cluster_topology::templates::{deployments, sets};
use schemas::cluster::{MachineDeployment, MachineHealthCheck, MachineSet};
use serde_json::{Value, json};

const DELETED: &str = "2026-11-21T00:00:00Z";

fn object(kind: &str, finalizer: &str, template: &str, is_deleting: bool) -> Value {
    let reference = |kind: &str| json!({"apiGroup": "g", "kind": kind, "name": template});
    let deletion = if is_deleting { json!(DELETED) } else { Value::Null };
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind,
        "metadata": {"name": template, "namespace": "default", "finalizers": ["other", finalizer], "deletionTimestamp": deletion},
        "spec": {"template": {"spec": {"bootstrap": {"configRef": reference("B")}, "infrastructureRef": reference("I")}}}})
}

fn deployment(template: &str, is_deleting: bool) -> Arc<MachineDeployment> {
    let object = object("MachineDeployment", deployments::FINALIZER, template, is_deleting);
    Arc::new(serde_json::from_value(object).unwrap())
}

fn set(template: &str, is_deleting: bool) -> Arc<MachineSet> {
    Arc::new(serde_json::from_value(object("MachineSet", sets::FINALIZER, template, is_deleting)).unwrap())
}

#[test]
fn templates_of_a_deployment_go_unless_a_set_uses_them() {
    let cases = [
        ("it is not deleted", deployment("a", false), vec![], 0),
        ("nobody else uses them", deployment("a", true), vec![set("b", false)], 2),
        ("a set uses them", deployment("a", true), vec![set("a", false)], 0),
        ("the set is deleted, too", deployment("a", true), vec![set("a", true)], 2),
    ];
    for (what, deployment, sets, expected) in cases {
        let is_deleting = deployment.metadata.deletion_timestamp.is_some();
        let check = Some(Arc::new(MachineHealthCheck::default()));
        let plan = deployments::plan(&deployments::Observed { deployment, sets, check });
        assert_eq!(plan.templates.len(), expected, "{what}");
        assert_eq!(plan.check.is_some(), is_deleting, "{what}: the health check goes with it");
        let left = plan.deployment.metadata.finalizers.unwrap().len();
        assert_eq!(left, if is_deleting { 1 } else { 2 }, "{what}");
    }
}

#[test]
fn templates_of_a_set_go_unless_its_deployment_or_another_set_uses_them() {
    let cases = [
        ("it is not deleted", set("a", false), None, vec![], 0),
        ("an old one", set("a", true), Some(deployment("b", false)), vec![set("b", false)], 2),
        ("the deployment uses them", set("a", true), Some(deployment("a", false)), vec![], 0),
        ("the deployment is deleted, too", set("a", true), Some(deployment("a", true)), vec![], 2),
        ("the deployment is gone", set("a", true), None, vec![set("a", true)], 2),
        ("another set uses them", set("a", true), None, vec![set("a", false)], 0),
    ];
    for (what, set, deployment, sets, expected) in cases {
        let is_deleting = set.metadata.deletion_timestamp.is_some();
        let plan = sets::plan(&sets::Observed { set, deployment, sets });
        assert_eq!(plan.templates.len(), expected, "{what}");
        let left = plan.set.metadata.finalizers.unwrap().len();
        assert_eq!(left, if is_deleting { 1 } else { 2 }, "{what}");
    }
}
