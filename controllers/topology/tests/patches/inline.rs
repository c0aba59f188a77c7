//! Operations and values of inline patches.

use serde_json::{Value, json};

use crate::topology::support::Fixture;

/// The spec of the infrastructure after one patch.
fn spec(patches: Value) -> Result<Value, String> {
    let mut fixture = Fixture::new();
    fixture.templates[0]["spec"]["template"]["spec"] =
        json!({ "zone": "a", "list": ["x", "y"], "map": { "k/1": 1, "k~2": 2 } });
    fixture.patch_infrastructure(patches);
    fixture.desired().map(|desired| desired.infrastructure["spec"].clone()).map_err(|error| error.to_string())
}

#[test]
fn operations() {
    let at = "/spec/template/spec";
    let rows = [
        ("add", "/new", json!(1), "/new", Some(json!(1))),
        ("add", "/zone", json!("b"), "/zone", Some(json!("b"))),
        ("add", "/list/-", json!("z"), "/list", Some(json!(["x", "y", "z"]))),
        ("add", "/list/0", json!("z"), "/list", Some(json!(["z", "x", "y"]))),
        ("add", "/map/k~13", json!(3), "/map/k~13", Some(json!(3))),
        ("add", "/null", json!(null), "/null", Some(json!(null))),
        ("replace", "/zone", json!({ "a": [] }), "/zone", Some(json!({ "a": [] }))),
        ("replace", "/list/1", json!("z"), "/list", Some(json!(["x", "z"]))),
        ("remove", "/zone", Value::Null, "/zone", None),
        ("remove", "/list/0", Value::Null, "/list", Some(json!(["y"]))),
        ("remove", "/map/k~02", Value::Null, "/map", Some(json!({ "k/1": 1 }))),
    ];
    for (op, path, value, look, expected) in rows {
        let mut operation = json!({ "op": op, "path": format!("{at}{path}"), "value": value });
        if path == "/null" {
            operation =
                json!({ "op": op, "path": format!("{at}{path}"), "valueFrom": { "template": "null" } });
        }
        let spec = spec(json!([operation])).unwrap_or_else(|error| panic!("{op} {path}: {error}"));
        assert_eq!(spec.pointer(look), expected.as_ref(), "{op} {path}");
    }
}

#[test]
fn operations_that_do_not_fit_say_what_is_missing() {
    let rows = [
        ("add", "/none/new", "there is no \"none\""),
        ("add", "/zone/new", "cannot be added: what is above it is neither an object nor a list"),
        ("add", "/list/4", "the list has no index 4"),
        ("add", "/list/x", "\"x\" is not an index of a list"),
        ("replace", "/none", "there is no \"none\""),
        ("replace", "/list/2", "the list has no index 2"),
        ("remove", "/none", "there is no \"none\""),
        ("remove", "/list/-3", "the list has no index -3"),
        ("move", "/zone", "a path must name a field"),
    ];
    for (op, path, part) in rows {
        let error = spec(json!([{ "op": op, "path": format!("/spec/template/spec{path}"), "value": 1 }]))
            .expect_err(part);
        let beginning =
            "patch \"p0\" of the ClusterClass cannot be applied to InfraTemplate ns/infra: definitions[0]: ";
        assert!(error.starts_with(&format!("{beginning}{op} /spec/template/spec{path}: ")), "{error}");
        assert!(op == "move" || error.contains(part), "{error}");
    }
}

#[test]
fn values_come_from_variables_and_templates() {
    let mut fixture = Fixture::new();
    fixture.variable(
        "proxy",
        "inline",
        json!({ "url": "http://p", "zones": [{ "name": "a" }, { "name": "b" }] }),
    );
    fixture.variable("count", "inline", json!(3));
    let place = |name: &str, from: Value| json!({ "op": "add", "path": format!("/spec/template/spec/{name}"), "valueFrom": from });
    fixture.patch_infrastructure(json!([
        place("a", json!({ "variable": "proxy.url" })),
        place("b", json!({ "variable": "proxy.zones[1].name" })),
        place("c", json!({ "variable": "proxy.zones[0]" })),
        place("d", json!({ "variable": "count" })),
        place("e", json!({ "variable": "builtin.cluster.name" })),
        place("f", json!({ "template": "{{ .proxy.url }}/{{ .count }}" })),
        place(
            "g",
            json!({ "template": "count: {{ add .count 1 }}\nlist: [{{ .count }}, \"{{ .count }}\"]\n" })
        ),
        place("h", json!({ "template": "{{ if false }}x{{ end }}" })),
        place("i", json!({ "template": "{{ toJson .proxy.zones }}" })),
        place("j", json!({ "template": "1.0" })),
    ]));
    let spec = fixture.desired().expect("they can be applied").infrastructure["spec"].clone();
    let expected = json!({
        "zone": "a", "a": "http://p", "b": "b", "c": { "name": "a" }, "d": 3, "e": "c1", "f": "http://p/3",
        "g": { "count": 4, "list": [3, "3"] }, "h": null, "i": [{ "name": "a" }, { "name": "b" }], "j": 1,
    });
    assert_eq!(spec, expected);
}

#[test]
fn values_that_cannot_be_made_say_why() {
    let rows = [
        (json!({ "variable": "none" }), "the variable \"none\" has no value"),
        (json!({ "variable": "proxy.none" }), "there is no \"none\""),
        (json!({ "variable": "proxy[0]" }), "\"proxy\" is not a list"),
        (json!({ "variable": "list[2]" }), "\"list\" has no item 2"),
        (json!({ "variable": "list[x]" }), "is not a path of a variable"),
        (json!({ "variable": "list]0[" }), "is not a path of a variable"),
        (json!({ "template": "{{ fail \"no\" }}" }), "line 1: fail: no"),
        (json!({ "template": "{{ .proxy" }), "cannot be parsed"),
        (json!({ "template": "a: [" }), "the rendered text is no YAML"),
        (json!({ "template": "x", "variable": "list" }), "exactly one of"),
        (json!({}), "exactly one of"),
    ];
    for (from, part) in rows {
        let mut fixture = Fixture::new();
        fixture.variable("proxy", "inline", json!({}));
        fixture.variable("list", "inline", json!([1, 2]));
        fixture.patch_infrastructure(
            json!([{ "op": "add", "path": "/spec/template/spec/a", "valueFrom": from }]),
        );
        let error = fixture.error();
        assert!(error.contains("definitions[0].jsonPatches[0]: ") && error.contains(part), "{error}");
    }
}

#[test]
fn a_patch_is_enabled_where_its_condition_is_true() {
    let rows = [
        ("", true),
        ("true", true),
        ("{{ eq .count 3.0 }}", true),
        ("{{ .count }}", false),
        ("{{ .none }}", false),
        ("\"true\"", false),
        ("{{ if .builtin.controlPlane }}true{{ end }}", false),
        ("True", true),
    ];
    for (condition, expected) in rows {
        let mut fixture = Fixture::new();
        fixture.variable("count", "inline", json!(3));
        let patch = fixture
            .patch_infrastructure(json!([{ "op": "add", "path": "/spec/template/spec/a", "value": 1 }]));
        patch["enabledIf"] = json!(condition);
        let spec = &fixture.desired().expect("it can be applied").infrastructure["spec"];
        assert_eq!(spec.get("a").is_some(), expected, "{condition}");
    }
    let mut fixture = Fixture::new();
    let patch =
        fixture.patch_infrastructure(json!([{ "op": "add", "path": "/spec/template/spec/a", "value": 1 }]));
    patch["enabledIf"] = json!("{{ index .shape \"x\" }}");
    assert!(fixture.error().contains("InfraTemplate ns/infra: enabledIf: "), "{}", fixture.error());
}

#[test]
fn patches_accumulate_in_their_order() {
    let mut fixture = Fixture::new();
    fixture.patch_infrastructure(json!([{ "op": "add", "path": "/spec/template/spec/list", "value": [] }]));
    fixture.patch_infrastructure(json!([{ "op": "add", "path": "/spec/template/spec/list/-", "value": 1 }]));
    let second = json!({ "selector": fixture.class["spec"]["patches"][1]["definitions"][0]["selector"],
        "jsonPatches": [{ "op": "add", "path": "/spec/template/spec/list/-", "value": 2 }] });
    fixture.class["spec"]["patches"][1]["definitions"].as_array_mut().expect("a list").push(second);
    fixture
        .patch_infrastructure(json!([{ "op": "replace", "path": "/spec/template/spec/list/0", "value": 3 }]));
    let spec = fixture.desired().expect("they can be applied").infrastructure["spec"].clone();
    assert_eq!(spec["list"], json!([3, 2]));
    // Patches that fight: the one that takes away what the next one wants fails at the next one.
    fixture.patch_infrastructure(json!([{ "op": "remove", "path": "/spec/template/spec/list" }]));
    fixture.patch_infrastructure(json!([{ "op": "add", "path": "/spec/template/spec/list/-", "value": 4 }]));
    assert!(fixture.error().starts_with("patch \"p4\""), "{}", fixture.error());
}

#[test]
fn patches_of_one_part_do_not_reach_another() {
    let mut fixture = Fixture::new();
    let workers = &mut fixture.cluster["spec"]["topology"]["workers"]["machineDeployments"];
    *workers = json!([{ "class": "small", "name": "md-0" }, { "class": "small", "name": "md-1" }]);
    let classes = json!({ "machineDeploymentClass": { "names": ["small"] } });
    let from = json!({ "template": "- {{ .builtin.machineDeployment.topologyName }}" });
    let patches = json!([{ "op": "replace", "path": "/spec/template/spec/commands", "valueFrom": from }]);
    fixture.patch("bootstrap.example.io/v1", "BootTemplate", classes, patches);
    let desired = fixture.desired().expect("it can be applied");
    for name in ["md-0", "md-1"] {
        let template = &desired.machine_deployments[name].bootstrap_template;
        assert_eq!(template["spec"]["template"]["spec"]["commands"], json!([name]));
    }
    let pool = &desired.machine_pools["mp-0"].bootstrap_template;
    assert_eq!(pool["spec"]["commands"], json!(["one"]));
}
