//! Patches that make too much, and those that make just not too much.

use serde_json::{Value, json};

use crate::topology::support::Fixture;

fn from_template(name: &str, template: &str) -> Value {
    json!({ "op": "add", "path": format!("/spec/template/spec/{name}"), "valueFrom": { "template": template } })
}

#[test]
fn a_template_has_a_size() {
    let text = |bytes: usize| format!("{{{{ repeat {bytes} \"x\" }}}}");
    let mut fixture = Fixture::new();
    fixture.patch_infrastructure(json!([
        from_template("a", &text(1 << 20)),
        from_template("b", &text(1 << 20))
    ]));
    assert!(fixture.desired().is_ok());
    fixture.patch_infrastructure(json!([from_template("c", &text((1 << 20) + 1))]));
    assert!(fixture.error().contains("there can be 3145728"), "{}", fixture.error());
    let mut fixture = Fixture::new();
    fixture.patch_infrastructure(json!([from_template("a", &text(4 << 20))]));
    assert!(fixture.error().contains("larger than 3145728 bytes"), "{}", fixture.error());
}

#[test]
fn a_template_has_a_depth() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |value, _| json!([value]));
    let patched = |levels: usize| {
        let mut fixture = Fixture::new();
        fixture.patch_infrastructure(
            json!([{ "op": "add", "path": "/spec/template/spec/a", "value": nested(levels) }]),
        );
        fixture.desired().map_err(|error| error.to_string())
    };
    assert!(patched(220).is_ok());
    assert!(patched(221).expect_err("it is too deep").contains("deeper than 224 levels"));
}

#[test]
fn all_patches_together_make_a_bounded_work() {
    // Each of them is within the limits of one rendering.
    let mut fixture = Fixture::new();
    let slow = "{{ range until 300000 }}{{ end }}";
    let patches: Vec<Value> = (0..100).map(|index| from_template(&format!("f{index}"), slow)).collect();
    fixture.patch_infrastructure(json!(patches));
    assert!(fixture.error().contains("steps"), "{}", fixture.error());
    let mut fixture = Fixture::new();
    let large = "{{ repeat 1000000 \"x\" }}";
    let patches: Vec<Value> = (0..1000).map(|_| from_template("same", large)).collect();
    fixture.patch_infrastructure(json!(patches));
    assert!(
        fixture.error().contains("make more than 1073741824 bytes for one Cluster"),
        "{}",
        fixture.error()
    );
}

#[test]
fn many_workers_with_many_patches_are_within_the_bounds() {
    let mut fixture = Fixture::new();
    fixture.variable("v", "inline", json!("x"));
    with_workers(&mut fixture, 100);
    let classes = json!({ "machineDeploymentClass": { "names": ["*"] } });
    for index in 0..50 {
        let patch =
            json!([from_template(&format!("f{index}"), "{{ .v }}-{{ .builtin.machineDeployment.name }}")]);
        let patch = fixture.patch("bootstrap.example.io/v1", "BootTemplate", classes.clone(), patch);
        patch["enabledIf"] = json!("{{ eq .v \"x\" }}");
    }
    let desired = fixture.desired().expect("it is not too much");
    assert_eq!(desired.machine_deployments.len(), 100);
}

/// Gives the topology so many MachineDeployments of a class.
fn with_workers(fixture: &mut Fixture, count: usize) {
    let workers: Vec<Value> =
        (0..count).map(|index| json!({ "class": "small", "name": format!("md-{index}") })).collect();
    fixture.cluster["spec"]["topology"]["workers"]["machineDeployments"] = json!(workers);
}

#[test]
fn the_copies_of_templates_have_a_size_together() {
    let of = |entries: usize| {
        let mut fixture = Fixture::new();
        with_workers(&mut fixture, entries);
        let files =
            fixture.templates[4]["spec"]["template"]["spec"].as_object_mut().expect("the bootstrap template");
        files.insert("files".to_owned(), json!("x".repeat(1_000_000)));
        fixture.unpatched().map(|desired| desired.machine_deployments.len())
    };
    assert_eq!(of(20), Ok(20));
    let error = of(2000).expect_err("two gigabytes");
    assert!(error.contains("would have more than 67108864 bytes together"), "{error}");
}

#[test]
fn all_patched_templates_have_a_size_together() {
    let mut fixture = Fixture::new();
    with_workers(&mut fixture, 100);
    let classes = json!({ "machineDeploymentClass": { "names": ["small"] } });
    let patch = json!([from_template("text", "{{ repeat 1000000 \"x\" }}")]);
    fixture.patch("bootstrap.example.io/v1", "BootTemplate", classes, patch);
    assert!(fixture.error().contains("more than 67108864 bytes together"), "{}", fixture.error());
}

#[test]
fn names_in_selectors_are_steps() {
    let mut fixture = Fixture::new();
    with_workers(&mut fixture, 2000);
    let names: Vec<String> = (0..100).map(|index| format!("other-{index}")).collect();
    for _ in 0..100 {
        let classes = json!({ "machineDeploymentClass": { "names": names } });
        fixture.patch("bootstrap.example.io/v1", "BootTemplate", classes, json!([from_template("a", "b")]));
    }
    assert!(fixture.error().contains("make more than 10000000 steps for one Cluster"), "{}", fixture.error());
}
