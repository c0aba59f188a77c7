//! Patches that extensions work out, and topologies that they validate.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster_topology::desired::Contract;
use cluster_topology::patches::{GeneratePatchesResponse, PatchItem};
use cluster_topology::{Blueprint, Current, Desired, PatchError, Patching, Step};
use serde_json::{Value, json};

use crate::topology::support::Fixture;

/// An inline patch, an external one, and an inline one that builds on both.
fn fixture() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.variable("mine", "inline", json!(1));
    fixture.variable("theirs", "ext", json!(2));
    fixture.cluster["spec"]["topology"]["controlPlane"]["variables"] =
        json!({ "overrides": [{ "name": "theirs", "value": 3 }, { "name": "mine", "value": 4 }] });
    fixture.patch_infrastructure(json!([{ "op": "add", "path": "/spec/template/spec/first", "value": [] }]));
    let external = json!({ "name": "ext", "external": { "generatePatchesExtension": "g", "validateTopologyExtension": "v" } });
    fixture.class["spec"]["patches"].as_array_mut().expect("a list").push(external);
    fixture.patch_infrastructure(
        json!([{ "op": "add", "path": "/spec/template/spec/second/-", "value": "after" }]),
    );
    fixture
}

fn item(uid: &str, patch_type: &str, patch: Value) -> PatchItem {
    PatchItem {
        uid: uid.to_owned(),
        patch_type: patch_type.to_owned(),
        patch: STANDARD.encode(patch.to_string()),
    }
}

/// What an extension answers, given the UID of the infrastructure's template.
type Answer = Box<dyn FnOnce(&str) -> Vec<PatchItem>>;

/// Runs all patches with one answer for the extension.
fn run(fixture: &Fixture, answer: impl FnOnce(&str) -> Vec<PatchItem>) -> Result<Desired, PatchError> {
    let (blueprint, current) = (fixture.blueprint(), fixture.current());
    let mut patching = begin(fixture, &blueprint, &current)?;
    let Step::Generate { request, .. } = patching.next()? else { panic!("the extension is asked") };
    patching.answer(GeneratePatchesResponse { items: answer(&request.items[0].uid) })?;
    while !matches!(patching.next()?, Step::Done) {}
    patching.finish()
}

fn begin<'a>(
    fixture: &Fixture,
    blueprint: &'a Blueprint,
    current: &'a Current,
) -> Result<Patching<'a>, PatchError> {
    Patching::new(
        blueprint,
        &current.cluster,
        fixture.unpatched().expect("it can be made"),
        Contract::V1Beta2,
    )
}

#[test]
fn an_extension_sees_the_templates_as_they_are_and_its_variables() {
    let fixture = fixture();
    let (blueprint, current) = (fixture.blueprint(), fixture.current());
    let mut patching = begin(&fixture, &blueprint, &current).expect("they are templates");
    let Step::Generate { patch, request } = patching.next().expect("the first patch fits") else {
        panic!("asked")
    };
    assert_eq!(patch.name, "ext");
    let names: Vec<_> = request.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["theirs", "builtin"]);
    let holders: Vec<_> = request
        .items
        .iter()
        .map(|item| (item.holder_reference.kind.as_str(), item.holder_reference.field_path.as_str()))
        .collect();
    let expected = [
        ("Cluster", "spec.infrastructureRef"),
        ("Cluster", "spec.controlPlaneRef"),
        ("Plane", "spec.machineTemplate.spec.infrastructureRef"),
        ("MachineDeployment", "spec.template.spec.bootstrap.configRef"),
        ("MachineDeployment", "spec.template.spec.infrastructureRef"),
        ("MachinePool", "spec.template.spec.bootstrap.configRef"),
        ("MachinePool", "spec.template.spec.infrastructureRef"),
    ];
    assert_eq!(holders, expected);
    assert_eq!(
        request.items[0].object["spec"]["template"]["spec"]["first"],
        json!([]),
        "patches before are applied"
    );
    assert!(request.items[0].variables.is_empty());
    let plane: Vec<_> =
        request.items[1].variables.iter().map(|variable| (variable.name.as_str(), &variable.value)).collect();
    assert_eq!(plane[0], ("theirs", &json!(3)));
    assert!(plane.len() == 2 && plane[1].1.get("controlPlane").is_some());
    let uids: std::collections::BTreeSet<_> = request.items.iter().map(|item| &item.uid).collect();
    assert_eq!(uids.len(), request.items.len());
}

#[test]
fn answers_are_applied_in_between() {
    let desired = run(&fixture(), |uid| {
        vec![
            item(
                uid,
                "JSONPatch",
                json!([
                    { "op": "add", "path": "/spec/template/spec/second", "value": ["theirs"] },
                    { "op": "test", "path": "/spec/template/spec/zone", "value": "a" },
                    { "op": "copy", "from": "/spec/template/spec/zone", "path": "/spec/template/spec/copied" },
                    { "op": "move", "from": "/spec/template/spec/first", "path": "/spec/template/spec/moved" },
                ]),
            ),
            item(
                uid,
                "JSONMergePatch",
                json!({ "spec": { "template": { "spec": { "zone": null, "merged": true } } }, "metadata": { "name": "x" } }),
            ),
            item(uid, "JSONMergePatch", json!({})),
        ]
    });
    let infrastructure = desired.expect("the answer fits").infrastructure;
    let expected = json!({ "second": ["theirs", "after"], "copied": "a", "moved": [], "merged": true });
    assert_eq!(infrastructure["spec"], expected);
    assert_ne!(infrastructure["metadata"]["name"], "x");
}

#[test]
fn the_topology_is_validated_after_all_patches() {
    let fixture = fixture();
    let (blueprint, current) = (fixture.blueprint(), fixture.current());
    let mut patching = begin(&fixture, &blueprint, &current).expect("they are templates");
    assert!(matches!(patching.next(), Ok(Step::Generate { .. })));
    assert_eq!(patching.next().expect_err("it is not answered"), PatchError::OutOfOrder);
    let uid = "00000000-0000-0000-0000-000000000001";
    let answer =
        item(uid, "JSONPatch", json!([{ "op": "add", "path": "/spec/template/spec/second", "value": [] }]));
    patching.answer(GeneratePatchesResponse { items: vec![answer] }).expect("it fits");
    let Step::Validate { patch, request } = patching.next().expect("all fit") else { panic!("validated") };
    assert_eq!(patch.name, "ext");
    assert_eq!(request.items[0].object["spec"]["template"]["spec"]["second"], json!(["after"]));
    assert_eq!(request.variables[0].name, "theirs");
    assert!(matches!(patching.next(), Ok(Step::Done)));
    assert_eq!(patching.answer(GeneratePatchesResponse::default()), Err(PatchError::OutOfOrder));
    assert!(patching.finish().is_ok());
}

#[test]
fn desired_objects_cannot_be_had_half_patched() {
    let fixture = fixture();
    let (blueprint, current) = (fixture.blueprint(), fixture.current());
    assert_eq!(
        begin(&fixture, &blueprint, &current).expect("templates").finish(),
        Err(PatchError::OutOfOrder)
    );
    let mut patching = begin(&fixture, &blueprint, &current).expect("templates");
    assert!(patching.next().is_ok());
    assert_eq!(patching.finish(), Err(PatchError::OutOfOrder));
}

#[test]
fn nonsense_is_refused() {
    let patch = |patch: Value| move |uid: &str| vec![item(uid, "JSONPatch", patch)];
    let error = |answer: Answer| run(&fixture(), answer).expect_err("nonsense").to_string();
    let rows: Vec<(Answer, &str)> = vec![
        (
            Box::new(|_| vec![item("other", "JSONPatch", json!([]))]),
            "\"other\", which is no item of the request",
        ),
        (
            Box::new(|uid| vec![item(uid, "", json!([]))]),
            "patchType must be JSONPatch or JSONMergePatch, not \"\"",
        ),
        (
            Box::new(|uid| {
                vec![PatchItem { uid: uid.into(), patch_type: "JSONPatch".into(), patch: "?".into() }]
            }),
            "base64",
        ),
        (
            Box::new(|uid| {
                vec![PatchItem {
                    uid: uid.into(),
                    patch_type: "JSONPatch".into(),
                    patch: STANDARD.encode("{"),
                }]
            }),
            "no JSON",
        ),
        (Box::new(patch(json!({}))), "must be a list of operations"),
        (Box::new(patch(json!([1]))), "\"\" is not an operation of JSON patch"),
        (
            Box::new(patch(json!([{ "op": "test", "path": "/spec/template/spec/zone", "value": "b" }]))),
            "the value is another one",
        ),
        (Box::new(patch(json!([{ "op": "add", "path": "spec", "value": 1 }]))), "a path must begin with /"),
        (Box::new(patch(json!([{ "op": "remove", "path": "" }]))), "the path must name a field"),
        (Box::new(|uid| vec![item(uid, "JSONMergePatch", json!([]))]), "error decoding patch"),
        (Box::new(|uid| vec![item(uid, "JSONMergePatch", json!({ "spec": 1 }))]), "there is no \"template\""),
    ];
    for (answer, part) in rows {
        let error = error(answer);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn an_extension_can_only_validate_and_a_patch_must_be_something() {
    let mut fixture = Fixture::new();
    fixture.class["spec"]["patches"] =
        json!([{ "name": "check", "external": { "validateTopologyExtension": "v" } }]);
    let (blueprint, current) = (fixture.blueprint(), fixture.current());
    let mut patching = begin(&fixture, &blueprint, &current).expect("templates");
    assert!(matches!(patching.next(), Ok(Step::Validate { .. })));
    assert!(matches!(patching.next(), Ok(Step::Done)));
    fixture.class["spec"]["patches"] = json!([{ "name": "nothing" }]);
    assert_eq!(fixture.error(), "patch \"nothing\" of the ClusterClass has neither definitions nor external");
}
