//! Compares every CustomResourceDefinition with the original one.

// Everything here is test code.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use contract::{ALLOWED, compare};
use serde_json::{Value, json};

fn upstream() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contract/data");
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let crd: Value = serde_json::from_str(&text).unwrap();
        all.insert(crd["name"].as_str().unwrap().to_owned(), crd);
    }
    all
}

fn ours() -> BTreeMap<String, Value> {
    let named = |crd: Value| (crd["metadata"]["name"].as_str().unwrap().to_owned(), crd);
    schemas::crds().unwrap().into_iter().map(named).collect()
}

#[test]
fn the_same_kinds() {
    // Kinds that only this project has are not in `data/`. Neither are those of the Cluster API Operator: its definitions repeat the
    // schemas of Pods, of which ours keep any field.
    let others = [".firstlight.dev", ".operator.cluster.x-k8s.io"];
    let known = ours().into_keys().filter(|name| !others.iter().any(|end| name.ends_with(end)));
    assert_eq!(known.collect::<Vec<_>>(), upstream().into_keys().collect::<Vec<_>>());
}

#[test]
fn no_difference_is_unexplained() {
    let ours = ours();
    let mut used = vec![false; ALLOWED.len()];
    let mut unexplained = Vec::new();
    for (name, upstream) in upstream() {
        for difference in compare(&ours[&name], &upstream) {
            match ALLOWED.iter().position(|allowed| allowed.explains(&difference)) {
                Some(index) => used[index] = true,
                None => unexplained.push(difference.to_string()),
            }
        }
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    let unused = ALLOWED.iter().zip(used).filter(|(_, used)| !used).map(|(allowed, _)| allowed);
    assert_eq!(unused.map(|allowed| allowed.path).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn every_field_is_described() {
    let mut missing = Vec::new();
    for (name, crd) in ours() {
        for version in crd["spec"]["versions"].as_array().unwrap() {
            undescribed(&version["schema"]["openAPIV3Schema"], &name, &mut missing);
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

fn undescribed(schema: &Value, path: &str, missing: &mut Vec<String>) {
    let described = schema["description"].as_str().is_some_and(|text| !text.trim().is_empty());
    // The API server itself describes metadata.
    let metadata = [".io.metadata", ".dev.metadata"].iter().any(|end| path.ends_with(end));
    if !described && !metadata {
        missing.push(path.to_owned());
    }
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        if rule["message"].as_str().is_none_or(str::is_empty) {
            missing.push(format!("{path}: message of {}", rule["rule"]));
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        undescribed(property, &format!("{path}.{name}"), missing);
    }
    // Scalar elements are described by their list.
    for key in ["items", "additionalProperties"] {
        if schema[key]["properties"].is_object() {
            undescribed(&schema[key], &format!("{path}[]"), missing);
        }
    }
}

#[test]
fn finds_what_differs_and_nothing_else() {
    let upstream = json!({
        "name": "a.b", "group": "b", "labels": null, "annotations": {},
        "versions": [{ "name": "v1", "schema": {
            "required": ["x", "y"],
            "properties": { "x": { "type": "string" }, "description": { "type": "string", "maxLength": 5 } },
        } }],
    });
    let ours = |required: Value, length: u64| {
        json!({
            "metadata": { "name": "a.b" },
            "spec": { "group": "b", "versions": [{ "name": "v1", "schema": { "openAPIV3Schema": {
                "description": "words",
                "required": required,
                "properties": {
                    "x": { "type": "string", "description": "words" },
                    "description": { "type": "string", "maxLength": length },
                },
            } } }] },
        })
    };
    let places = |ours: Value| -> Vec<String> {
        let skip = ["/scope", "/names", "/conversion"];
        let found = compare(&ours, &upstream).into_iter().map(|difference| difference.path);
        found.filter(|path| !skip.contains(&path.as_str())).collect()
    };
    assert_eq!(places(ours(json!(["y", "x"]), 5)), Vec::<String>::new());
    assert_eq!(places(ours(json!(["y"]), 5)), ["/versions/v1/schema/required"]);
    assert_eq!(places(ours(json!(["x", "y"]), 6)), ["/versions/v1/schema/properties/description/maxLength"]);
}
