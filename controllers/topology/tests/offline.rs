//! Clusters that are rendered from manifests alone.

use cluster_topology::Desired;
use cluster_topology::desired::Contract;
use cluster_topology::offline::{self, Kinds, OfflineError, Rendered};
use serde_json::{Value, json};

use crate::topology::support::Fixture;

/// Kinds with the versions v1 and v2, whose objects differ in nothing else. Those of the group `foreign.example.io` cannot be converted.
struct TwoVersions;

impl Kinds for TwoVersions {
    fn in_version(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        if object["apiVersion"] != api_version && api_version.starts_with("foreign.") {
            return Err("nobody can convert it".to_owned());
        }
        let mut converted = object.clone();
        converted["apiVersion"] = api_version.into();
        Ok(converted)
    }

    fn contract(&self, api_version: &str, kind: &str) -> Contract {
        assert_eq!(kind, "Plane");
        if api_version.ends_with("/v2") { Contract::V1Beta2 } else { Contract::V1Beta1 }
    }
}

fn render(fixture: &Fixture) -> Result<Desired, String> {
    rendered(fixture).map(|rendered| rendered.desired).map_err(|error| error.to_string())
}

/// Renders the Cluster of a fixture whose manifests name no namespace.
fn rendered(fixture: &Fixture) -> Result<Rendered, OfflineError> {
    let mut manifests = fixture.templates.clone();
    manifests.push(fixture.class.clone());
    let mut cluster = fixture.cluster.clone();
    for object in manifests.iter_mut().chain([&mut cluster]) {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
    }
    offline::render(&manifests, &cluster, &TwoVersions)
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

#[test]
fn the_version_that_the_class_names_decides() {
    // The class names the template of the control plane in this version; it is written in v1.
    for (version, path) in [("v1", "/infrastructureRef"), ("v2", "/spec/infrastructureRef")] {
        let mut fixture = Fixture::new();
        let named = format!("infrastructure.example.io/{version}");
        fixture.class["spec"]["controlPlane"]["templateRef"]["apiVersion"] = json!(named);
        fixture.patch(
            &named,
            "PlaneTemplate",
            json!({ "controlPlane": true }),
            json!([{ "op": "add", "path": "/spec/template/spec/patched", "value": true }]),
        );
        let Rendered { desired, unused } = rendered(&fixture).expect("it can be rendered");
        let plane = &desired.control_plane;
        assert_eq!((&plane["apiVersion"], &plane["spec"]["patched"]), (&json!(named), &json!(true)));
        let reference = plane["spec"]["machineTemplate"].pointer(path).expect(path);
        assert_eq!(reference["kind"], "MachineTemplate", "{version}");
        assert_eq!(unused, []);
    }
}

#[test]
fn a_template_that_no_patch_would_find_is_an_error() {
    let mut fixture = Fixture::new();
    fixture.templates.iter_mut().filter(|template| template["kind"] == "InfraTemplate").for_each(
        |template| {
            template["apiVersion"] = json!("foreign.example.io/v1");
        },
    );
    fixture.class["spec"]["infrastructure"]["templateRef"]["apiVersion"] = json!("foreign.example.io/v2");
    assert!(render(&fixture).is_ok(), "no patch needs the version");
    let value = json!([{ "op": "add", "path": "/spec/template/spec/v", "value": 1 }]);
    let infrastructure = json!({ "infrastructureCluster": true });
    fixture.patch("foreign.example.io/v2", "InfraTemplate", infrastructure, value);
    let expected = "spec.infrastructure.templateRef of the ClusterClass names version foreign.example.io/v2 of InfraTemplate";
    let error = render(&fixture).expect_err("the patch would be lost");
    assert!(error.starts_with(expected) && error.ends_with("nobody can convert it"), "{error}");
}

#[test]
fn parts_of_patches_that_change_nothing_are_told() {
    let mut fixture = Fixture::new();
    let value = json!([{ "op": "add", "path": "/spec/template/spec/v", "value": 1 }]);
    let classes = json!({ "machineDeploymentClass": { "names": ["large"] } });
    fixture.patch("bootstrap.example.io/v1", "BootTemplate", classes, value.clone());
    fixture.patch_infrastructure(value);
    let unused = rendered(&fixture).expect("it can be rendered").unused;
    let told: Vec<String> = unused.iter().map(ToString::to_string).collect();
    let expected = "definitions[0] of patch \"p0\" changes nothing: its selector (BootTemplate of bootstrap.example.io/v1, \
                    {\"machineDeploymentClass\":{\"names\":[\"large\"]}}) matches no template of the Cluster";
    assert_eq!(told, [expected]);
}
