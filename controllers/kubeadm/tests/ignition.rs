//! Renders the cases in `data/ignition`, checks them against the format of Ignition 2.3, and compares them with the
//! files beside them. `UPDATE=1` rewrites those files.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

use std::fs;

use serde_json::{Value, json};

use crate::kubeadm::render::{Case, data, rendered};

/// Returns what is wrong with a configuration. The schema is written from the specification: fields that it does
/// not name are not allowed, and `pattern` lists the endings of a name.
fn violations(root: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        return violations(root, &root["definitions"][name], value, path);
    }
    let wrong = |what: &str| vec![format!("{path} {what}: {value}")];
    if let Some(items) = schema.get("items") {
        let Some(list) = value.as_array() else { return wrong("is no list") };
        let each = list.iter().enumerate();
        return each.flat_map(|(at, item)| violations(root, items, item, &format!("{path}[{at}]"))).collect();
    }
    if let Some(allowed) = schema["enum"].as_array() {
        return if allowed.contains(value) { Vec::new() } else { wrong("is not allowed") };
    }
    match schema["type"].as_str().unwrap() {
        "string" if value.is_string() => {
            let endings = schema["pattern"].as_array().cloned().unwrap_or_default();
            let ending = value.as_str().unwrap().rsplit('.').next().unwrap();
            if endings.is_empty() || endings.contains(&json!(ending)) {
                Vec::new()
            } else {
                wrong("has no known ending")
            }
        }
        "integer" if value.is_u64() => Vec::new(),
        "boolean" if value.is_boolean() => Vec::new(),
        "object" if value.is_object() => {
            let fields = value.as_object().unwrap();
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let missing =
                required.iter().map(|name| name.as_str().unwrap()).filter(|name| !fields.contains_key(*name));
            let mut all: Vec<String> = missing.map(|name| format!("{path}.{name} is missing")).collect();
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                match schema["properties"].get(name) {
                    None => all.push(format!("{path} is not known")),
                    Some(schema) => all.extend(violations(root, schema, value, &path)),
                }
            }
            all
        }
        other => wrong(&format!("is no {other}")),
    }
}

fn schema() -> Value {
    serde_json::from_str(&fs::read_to_string(data().join("ignition/schema.json")).unwrap()).unwrap()
}

fn case(spec: Value) -> Case {
    serde_json::from_value(json!({"role": "init", "version": "v1.36.0", "spec": spec})).unwrap()
}

fn with_additional(text: &str, strict: bool) -> Result<Value, String> {
    let additional = json!({"containerLinuxConfig": {"additionalConfig": text, "strict": strict}});
    let text = rendered(case(json!({"format": "ignition", "ignition": additional})), false);
    text.map(|text| serde_json::from_str(&text).unwrap()).map_err(|error| error.to_string())
}

#[test]
fn ignition_data_are_as_recorded_and_valid() {
    let schema = schema();
    for name in ["all", "join"] {
        let path = data().join("ignition").join(format!("{name}.yaml"));
        let case: Case = serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let value: Value = serde_json::from_str(&rendered(case, false).unwrap()).unwrap();
        assert_eq!(violations(&schema, &schema, &value, ""), Vec::<String>::new(), "{name}");
        let text = format!("{}\n", serde_json::to_string_pretty(&value).unwrap());
        let recorded = data().join("ignition").join(format!("{name}.ign"));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&recorded, &text).unwrap();
        }
        assert_eq!(text, fs::read_to_string(&recorded).unwrap(), "{name}");
    }
}

#[test]
fn the_schema_finds_what_is_wrong() {
    let schema = schema();
    for (value, expected) in [
        (json!({}), ".ignition is missing"),
        (json!({"ignition": {"version": "3.0.0"}}), ".ignition.version is not allowed: \"3.0.0\""),
        (
            json!({"ignition": {"version": "2.3.0"}, "storage": {"files": [{}]}}),
            ".storage.files[0].filesystem is missing",
        ),
        (
            json!({"ignition": {"version": "2.3.0"}, "systemd": {"units": {}}}),
            ".systemd.units is no list: {}",
        ),
        (json!({"ignition": {"version": "2.3.0"}, "x": 1}), ".x is not known"),
    ] {
        assert_eq!(violations(&schema, &schema, &value, "").first().unwrap(), expected);
    }
}

#[test]
fn additional_configuration_is_added_behind() {
    let value = with_additional("systemd:\n  units:\n  - {name: a.service, mask: true}\n", true).unwrap();
    let units = value["systemd"]["units"].as_array().unwrap();
    let names: Vec<&str> = units.iter().map(|unit| unit["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["kubeadm.service", "a.service"]);
    let unknown = "storage: {files: [{path: /a, mode: 0755, color: red}]}\nbogus: 1\n";
    let value = with_additional(unknown, false).unwrap();
    let last = value["storage"]["files"].as_array().unwrap().last().unwrap().clone();
    let contents = json!({"source": "data:,"});
    assert_eq!(last, json!({"filesystem": "root", "path": "/a", "mode": 0o755, "contents": contents}));
    let field = "spec.ignition.containerLinuxConfig.additionalConfig";
    for (text, expected) in [
        (unknown, "storage.files[0].color is not known"),
        ("- a", "must be a map"),
        ("etcd: {}", "etcd is not supported: write its units and files instead"),
    ] {
        assert_eq!(with_additional(text, true).unwrap_err(), format!("{field}: {expected}"), "{text}");
    }
}

#[test]
fn the_section_about_ignition_keeps_its_version() {
    let value = with_additional("ignition: {timeouts: {http_total: 30}}", false).unwrap();
    assert_eq!(value["ignition"], json!({"version": "2.3.0", "timeouts": {"httpTotal": 30}}));
}

#[test]
fn what_ignition_cannot_express_is_named() {
    for (spec, expected) in [
        (json!({"mounts": [["a"]]}), "spec.mounts[0] must have the label of a filesystem and a path"),
        (
            json!({"mounts": [["a", "/a"]]}),
            "spec.mounts[0] names no label of spec.diskSetup.filesystems, which Ignition needs",
        ),
        (
            json!({"files": [{"path": "/a", "content": "x", "encoding": "gzip"}]}),
            "file /a: the encoding gzip is not possible with Ignition: use base64",
        ),
        (
            json!({"files": [{"path": "/a", "content": "?", "encoding": "base64"}]}),
            "file /a: the content is not base64",
        ),
        (
            json!({"files": [{"path": "/a", "content": "x"}]}),
            "file /a: permissions must be set, or nobody but root can read it",
        ),
        (
            json!({"files": [{"path": "/a", "content": "x", "permissions": "rw"}]}),
            "file /a: \"rw\" is not a mode in octal digits, such as 0640",
        ),
    ] {
        let mut spec = spec;
        spec["format"] = json!("ignition");
        assert_eq!(rendered(case(spec), false).unwrap_err().to_string(), expected);
    }
}

#[test]
fn units_of_mounts_are_named_as_systemd_names_them() {
    for (path, expected) in [
        ("/var/lib/etcd", "var-lib-etcd"),
        ("/", "-"),
        ("//var//log/", "var-log"),
        ("/my-data/.x", "my\\x2ddata-.x"),
        ("/.x", "\\x2ex"),
    ] {
        let disks = json!({"filesystems": [{"device": "/dev/sdb1", "filesystem": "ext4", "label": "a"}]});
        let spec = json!({"format": "ignition", "diskSetup": disks, "mounts": [["a", path]]});
        let config: Value = serde_json::from_str(&rendered(case(spec), false).unwrap()).unwrap();
        let units = config["systemd"]["units"].as_array().unwrap();
        let is_mount = |unit: &&Value| unit["name"].as_str().unwrap().ends_with(".mount");
        let names: Vec<&Value> = units.iter().filter(is_mount).map(|unit| &unit["name"]).collect();
        assert_eq!(names, [&json!(format!("{expected}.mount"))], "{path}");
    }
}
