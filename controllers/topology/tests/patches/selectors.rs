//! Which templates a definition changes.

use serde_json::{Value, json};

use crate::topology::support::Fixture;

const INFRASTRUCTURE: &str = "infrastructure.example.io/v1";
const BOOTSTRAP: &str = "bootstrap.example.io/v1";

/// Names of the parts that a definition changes.
fn changed(api_version: &str, kind: &str, resources: Value) -> Vec<String> {
    let mut fixture = Fixture::new();
    fixture.cluster["spec"]["topology"]["workers"]["machineDeployments"] =
        json!([{ "class": "small", "name": "s" }, { "class": "large", "name": "l" }]);
    fixture.patch(
        api_version,
        kind,
        resources,
        json!([{ "op": "add", "path": "/spec/template/spec/hit", "value": true }]),
    );
    let desired = fixture.desired().expect("it can be applied");
    let mut found = Vec::new();
    let mut look = |name: &str, object: &Value| {
        let hits = [object.pointer("/spec/hit"), object.pointer("/spec/template/spec/hit")];
        if hits.iter().any(Option::is_some) {
            found.push(name.to_owned());
        }
    };
    look("infrastructure", &desired.infrastructure);
    look("plane", &desired.control_plane);
    look("plane machines", desired.control_plane_machines_template.as_ref().expect("the class has one"));
    for (name, workers) in desired.machine_deployments.iter().chain(&desired.machine_pools) {
        look(&format!("{name} boot"), &workers.bootstrap_template);
        look(&format!("{name} machines"), &workers.infrastructure_template);
    }
    found
}

#[test]
fn each_part_has_its_selector() {
    let deployments = |names: Value| json!({ "machineDeploymentClass": { "names": names } });
    let pools = |names: Value| json!({ "machinePoolClass": { "names": names } });
    let rows: [(&str, &str, Value, &[&str]); 18] = [
        (INFRASTRUCTURE, "InfraTemplate", json!({ "infrastructureCluster": true }), &["infrastructure"]),
        (
            INFRASTRUCTURE,
            "InfraTemplate",
            json!({ "infrastructureCluster": false, "controlPlane": true }),
            &[],
        ),
        ("infrastructure.example.io/v2", "InfraTemplate", json!({ "infrastructureCluster": true }), &[]),
        (INFRASTRUCTURE, "Infra", json!({ "infrastructureCluster": true }), &[]),
        (INFRASTRUCTURE, "PlaneTemplate", json!({ "controlPlane": true }), &["plane"]),
        (INFRASTRUCTURE, "MachineTemplate", json!({ "controlPlane": true }), &["plane machines"]),
        (INFRASTRUCTURE, "MachineTemplate", deployments(json!(["small"])), &["s machines"]),
        (BOOTSTRAP, "BootTemplate", deployments(json!(["small", "large"])), &["l boot", "s boot"]),
        (BOOTSTRAP, "BootTemplate", deployments(json!(["*"])), &["l boot", "s boot"]),
        (BOOTSTRAP, "BootTemplate", deployments(json!(["sm*"])), &["s boot"]),
        (BOOTSTRAP, "BootTemplate", deployments(json!(["*rge"])), &["l boot"]),
        (BOOTSTRAP, "BootTemplate", deployments(json!(["*mal*", "s*l"])), &[]),
        (BOOTSTRAP, "BootTemplate", deployments(json!(["s", "pool"])), &[]),
        (BOOTSTRAP, "BootTemplate", deployments(json!([])), &[]),
        (BOOTSTRAP, "BootTemplate", pools(json!(["po*"])), &["mp-0 boot"]),
        (INFRASTRUCTURE, "PoolTemplate", pools(json!(["pool"])), &["mp-0 machines"]),
        (INFRASTRUCTURE, "PoolTemplate", pools(json!(["small"])), &[]),
        (
            INFRASTRUCTURE,
            "MachineTemplate",
            json!({ "controlPlane": true, "machineDeploymentClass": { "names": ["large"] } }),
            &["plane machines", "l machines"],
        ),
    ];
    for (api_version, kind, resources, expected) in rows {
        assert_eq!(changed(api_version, kind, resources.clone()), expected, "{kind} {resources}");
    }
}
