//! Clusters that are rendered from manifests alone.

use cluster_topology::desired::Contract;
use cluster_topology::{Desired, offline};
use serde_json::{Value, json};

use crate::topology::support::Fixture;

/// Renders the Cluster of a fixture whose manifests name no namespace.
fn render(fixture: &Fixture) -> Result<Desired, String> {
    let mut manifests = fixture.templates.clone();
    manifests.push(fixture.class.clone());
    let mut cluster = fixture.cluster.clone();
    for object in manifests.iter_mut().chain([&mut cluster]) {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
    }
    offline::render(&manifests, &cluster, Contract::V1Beta2).map_err(|error| error.to_string())
}

fn define(fixture: &mut Fixture, name: &str, required: bool, schema: Value) {
    let variable = json!({ "name": name, "required": required, "schema": { "openAPIV3Schema": schema } });
    fixture.class["spec"]["variables"] = json!([variable]);
}

#[test]
fn a_cluster_is_rendered_with_defaults_and_patches() {
    let mut fixture = Fixture::new();
    define(&mut fixture, "v", false, json!({ "type": "string", "default": "d" }));
    let from = json!({ "variable": "v" });
    fixture
        .patch_infrastructure(json!([{ "op": "add", "path": "/spec/template/spec/v", "valueFrom": from }]));
    let desired = render(&fixture).expect("it can be rendered");
    assert_eq!(desired.infrastructure["spec"], json!({ "zone": "a", "v": "d" }));
    let metadata = &desired.infrastructure["metadata"];
    assert_eq!((&metadata["name"], &metadata["namespace"]), (&json!("c1-xxxxx"), &json!("default")));
    fixture.cluster["spec"]["topology"]["variables"] = json!([{ "name": "v", "value": "mine" }]);
    assert_eq!(render(&fixture).expect("it can be rendered").infrastructure["spec"]["v"], "mine");
    assert_eq!(render(&fixture), render(&fixture), "twice the same");
}

#[test]
fn errors_say_what_the_manifests_lack() {
    let mut fixture = Fixture::new();
    fixture.class["spec"]["workers"]["machineDeployments"][1]["bootstrap"]["templateRef"]["name"] =
        json!("none");
    let error = render(&fixture).expect_err("a template is missing");
    let text = "spec.workers.machineDeployments[large].bootstrap.templateRef of the ClusterClass refers to BootTemplate default/none, which is not in the manifests";
    assert_eq!(error, text);
    let mut fixture = Fixture::new();
    fixture.cluster["spec"]["topology"]["classRef"]["name"] = json!("other");
    assert!(render(&fixture).expect_err("no class").contains("refers to ClusterClass default/other"));
    let mut fixture = Fixture::new();
    fixture.class["spec"]["workers"] = json!("x");
    assert!(render(&fixture).expect_err("no class").starts_with("ClusterClass /base: "));
    let mut fixture = Fixture::new();
    fixture.cluster["spec"] = json!({});
    assert!(render(&fixture).is_err());
}

#[test]
fn variables_must_be_defined_and_set() {
    let mut fixture = Fixture::new();
    define(&mut fixture, "v", true, json!({ "type": "string" }));
    assert!(render(&fixture).expect_err("it is required").contains('v'));
    fixture.cluster["spec"]["topology"]["variables"] =
        json!([{ "name": "v", "value": "x" }, { "name": "w", "value": 1 }]);
    assert!(render(&fixture).expect_err("w is not defined").contains("spec.topology.variables[w]"));
}

#[test]
fn variables_must_fit_their_schemas() {
    let mut fixture = Fixture::new();
    let rule = json!([{ "rule": "self % 2 == 1", "message": "must be odd" }]);
    define(
        &mut fixture,
        "v",
        true,
        json!({ "type": "integer", "maximum": 9, "x-kubernetes-validations": rule }),
    );
    for (value, part) in [
        (json!("x"), "must be of type integer"),
        (json!(11), "less than or equal to 9"),
        (json!(2), "must be odd"),
    ] {
        fixture.cluster["spec"]["topology"]["variables"] = json!([{ "name": "v", "value": value }]);
        let error = render(&fixture).expect_err(part);
        let field = "Cluster default/c1: spec.topology.variables[v].value: ";
        assert!(error.starts_with(field) && error.contains(part), "{error}");
    }
    fixture.cluster["spec"]["topology"]["variables"] = json!([{ "name": "v", "value": 3 }]);
    assert!(render(&fixture).is_ok());
}

#[test]
fn what_a_server_refuses_is_not_rendered() {
    let same_class = json!("small");
    for (is_of_class, path, value, expected) in [
        (false, "/spec/topology/version", json!("banana"), "Cluster default/c1: spec.topology.version: "),
        (
            false,
            "/spec/topology/workers/machineDeployments/0/class",
            json!("none"),
            "Cluster default/c1: spec.topology.workers.machineDeployments",
        ),
        (
            true,
            "/spec/workers/machineDeployments/1/class",
            same_class,
            "ClusterClass default/base: spec.workers.machineDeployments",
        ),
    ] {
        let mut fixture = Fixture::new();
        let object = if is_of_class { &mut fixture.class } else { &mut fixture.cluster };
        *object.pointer_mut(path).expect(path) = value;
        let error = render(&fixture).expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
    let mut fixture = Fixture::new();
    fixture.class["spec"]["kubernetesVersions"] = json!(["v1.2.3"]);
    assert!(
        render(&fixture)
            .expect_err("another version")
            .contains("one of the versions of the ClusterClass: v1.2.3")
    );
}

#[test]
fn extensions_cannot_be_asked() {
    let mut fixture = Fixture::new();
    let external = |field: &str| json!([{ "name": "ext", "external": { field: "handler" } }]);
    fixture.class["spec"]["patches"] = external("generatePatchesExtension");
    assert!(
        render(&fixture)
            .expect_err("there is no server")
            .contains("patch \"ext\" of the ClusterClass needs a runtime extension")
    );
    fixture.class["spec"]["patches"] = external("validateTopologyExtension");
    assert!(render(&fixture).is_ok());
}
