//! What the values of Secrets and ConfigMaps are read as.

use std::sync::Arc;

use addons::limits::{MAX_RESOURCE_BYTES, MAX_RESOURCE_OBJECTS};
use addons::resource_set::Source;
use addons::resource_set::manifests::{Manifest, hash, read, text};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

fn config_map(values: &[(&str, &str)]) -> Source {
    let data = values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Source::ConfigMap(Arc::new(ConfigMap { data: Some(data), ..ConfigMap::default() }))
}

fn secret(values: &[(&str, &[u8])]) -> Source {
    let data = values.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.to_vec()))).collect();
    Source::Secret(Arc::new(Secret { data: Some(data), ..Secret::default() }))
}

fn manifest(kind: &str, name: &str) -> String {
    format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: default}}\n")
}

/// Returns `key/document kind name` of each manifest.
fn found(source: &Source) -> Vec<String> {
    let told = |manifest: &Manifest| {
        let (place, object) = (&manifest.place, &manifest.object);
        format!(
            "{}/{} {} {}",
            place.key,
            place.document,
            text(object, "kind"),
            text(&object["metadata"], "name")
        )
    };
    read(source).unwrap().iter().map(told).collect()
}

fn fault(source: &Source) -> String {
    read(source).err().unwrap().reason
}

#[test]
fn values_in_the_order_of_keys_and_each_in_the_order_of_kinds() {
    let second =
        [manifest("Service", "s"), manifest("ConfigMap", "m"), manifest("Namespace", "space")].join("---\n");
    let first =
        [manifest("Deployment", "d"), manifest("Pod", "p"), manifest("Endpoints", "e")].join("--- # next\n");
    let expected = [
        "a/2 Pod p",
        "a/1 Deployment d",
        "a/3 Endpoints e",
        "b/3 Namespace space",
        "b/2 ConfigMap m",
        "b/1 Service s",
    ];
    assert_eq!(found(&config_map(&[("b", &second), ("a", &first)])), expected);
}

#[test]
fn yaml_json_and_lists_of_json() {
    let object =
        |kind: &str| format!(r#"{{"apiVersion": "v1", "kind": "{kind}", "metadata": {{"name": "x"}}}}"#);
    let (pod, node) = (object("Pod"), object("Node"));
    for (value, expected) in [
        (pod.clone(), vec!["k/1 Pod x"]),
        (format!("{pod}\n---\n{node}"), vec!["k/1 Pod x", "k/2 Node x"]),
        (format!(" \n[{node}, {pod}]"), vec!["k/2 Pod x", "k/1 Node x"]),
        (format!("# a comment\n---\n\n---\n{pod}\n---\n# end"), vec!["k/1 Pod x"]),
        (format!("null # {}\n", "-".repeat(40)), vec![]),
        ("[]".to_owned(), vec![]),
        (String::new(), vec![]),
        ("# empty".to_owned(), vec![]),
        (format!("kind: List\napiVersion: v1\nitems: [{node}, {pod}]"), vec!["k/1 Pod x", "k/1 Node x"]),
        ("{apiVersion: v1, kind: PodList, items: []}".to_owned(), vec![]),
    ] {
        assert_eq!(found(&config_map(&[("k", &value)])), expected, "{value}");
    }
}

#[test]
fn what_cannot_be_applied_is_told_by_its_place() {
    let good = manifest("Pod", "p");
    for (value, expected) in [
        ("not: [a manifest", "key \"k\", document 1: it is neither YAML nor JSON: "),
        (
            "[{\"apiVersion\": \"v1\", \"kind\": \"Pod\"",
            "key \"k\", document 1: it is neither YAML nor JSON: ",
        ),
        (&format!("{good}---\na: [1\n"), "key \"k\", document 2: it is neither YAML nor JSON: "),
        (&format!("{good}---\n- a\n"), "key \"k\", document 2: it is no object"),
        (&format!("[[{}]]", "1,".repeat(20).trim_end_matches(',')), "key \"k\", document 1: it is no object"),
    ] {
        let told = fault(&config_map(&[("k", value)]));
        assert!(told.starts_with(expected), "{value}: {told}");
    }
    assert!(fault(&config_map(&[])).starts_with("it has no data to apply"));
}

#[test]
fn an_object_that_cannot_be_requested_holds_up_no_other() {
    let good = manifest("Pod", "p");
    let faults = |value: &str| {
        let manifests = read(&config_map(&[("k", &[value, &good].join("---\n"))])).unwrap();
        let told = |manifest: &Manifest| manifest.fault.map(|fault| format!("{}: {fault}", manifest.place));
        manifests.iter().map(told).collect::<Vec<_>>()
    };
    let item = "apiVersion: v1\nkind: List\nitems:\n- {}\n- {kind: A, apiVersion: v1}\n".to_owned();
    for (value, expected) in [
        (good.replace("v1", "../v1"), "document 1: apiVersion is missing, or is not GROUP/VERSION"),
        (good.replace("v1", "a/b/v1"), "document 1: apiVersion is missing, or is not GROUP/VERSION"),
        (good.replace("Pod", ""), "document 1: kind is missing"),
        (good.replace("name: p,", ""), "document 1: metadata.name is missing, or is no name"),
        (good.replace("name: p,", "name: p/../q,"), "document 1: metadata.name is missing, or is no name"),
        (good.replace("name: p,", "generateName: /,"), "document 1: metadata.name is missing, or is no name"),
        (good.replace("default", "[]"), "document 1: metadata.namespace is no name"),
        (item, "document 1, item 2: metadata.name is missing, or is no name"),
    ] {
        let faults = faults(&value);
        assert!(faults.contains(&Some(format!("key \"k\", {expected}"))), "{value}: {faults:?}");
        assert!(faults.contains(&None), "{value}: {faults:?}");
    }
    let generated = good.replace("name: p,", "generateName: p-,");
    assert_eq!(faults(&generated), [None, None]);
}

#[test]
fn a_secret_is_not_quoted() {
    for value in [
        &b"password: [hunter2, password: hunter2, hunter2"[..],
        b"[{\"password\": \"hunter2\", \"more\": hunter2}]",
        b"hunter2: &hunter2 [*hunter3]\nmore: and more of it",
        b"hunter2 hunter2 hunter2 hunter2 \xff\xff",
        b"hunter2",
    ] {
        let told = fault(&secret(&[("k", value)]));
        assert!(told.starts_with("key \"k\"") && !told.contains("hunter"), "{told}");
    }
}

#[test]
fn the_hash_is_that_of_upstream() {
    // From the recording of Cluster API v1.14.0.
    let value =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: once, namespace: default}\ndata: {v: \"1\"}\n";
    let expected = "sha256:ba1117633e4908f89402661f34a5b098853e59ebc04b93f1b9d91936e89e70a0";
    assert_eq!(hash(&config_map(&[("one.yaml", value)])).as_deref(), Some(expected));
    let (begin, end) = value.split_at(20);
    let halves = secret(&[("b", end.as_bytes()), ("a", begin.as_bytes())]);
    assert_eq!(hash(&halves).as_deref(), Some(expected), "the values are concatenated");
    assert_eq!(hash(&config_map(&[])), None);
}

#[test]
fn a_resource_has_a_limited_size() {
    let object = manifest("Pod", "p");
    let padded = |size: usize| format!("{object}# {}", "-".repeat(size - object.len() - 2));
    assert_eq!(found(&config_map(&[("k", &padded(MAX_RESOURCE_BYTES))])).len(), 1);
    let half = padded(MAX_RESOURCE_BYTES / 2 + 1);
    let error = read(&config_map(&[("a", &half), ("b", &half)])).err().unwrap();
    assert_eq!(error.limit, Some("max_resource_bytes"));

    let many = |count: usize| vec![object.as_str(); count].join("---\n");
    assert_eq!(found(&config_map(&[("k", &many(MAX_RESOURCE_OBJECTS))])).len(), MAX_RESOURCE_OBJECTS);
    let half = many(MAX_RESOURCE_OBJECTS / 2 + 1);
    let error = read(&config_map(&[("a", &half), ("b", &half)])).err().unwrap();
    assert_eq!(error.limit, Some("max_resource_objects"));
}

#[test]
fn aliases_do_not_make_a_resource_large() {
    // Each document has 64 KiB and becomes 64 times as large, less than a document may have.
    let text = "x".repeat(64 * 1024);
    let aliases = "*x, ".repeat(64);
    let bomb = format!("{}a: &x {text}\nb: [{aliases}]\n", manifest("ConfigMap", "m"));
    let documents = |count: usize| vec![bomb.as_str(); count].join("---\n");
    assert_eq!(found(&config_map(&[("k", &documents(7))])).len(), 7);
    let error = read(&config_map(&[("k", &documents(9))])).err().unwrap();
    assert_eq!(error.limit, Some("max_resource_cost"));
}

#[test]
fn a_document_has_a_limited_depth() {
    let deep = |depth: usize| {
        format!("{}a: {}{}\n", manifest("ConfigMap", "m"), "[".repeat(depth), "]".repeat(depth))
    };
    assert_eq!(found(&config_map(&[("k", &deep(100))])).len(), 1);
    assert!(fault(&config_map(&[("k", &deep(300))])).starts_with("key \"k\", document 1: it is neither"));
    let list = format!("[{}{}]", "[".repeat(300), "]".repeat(300));
    assert!(fault(&config_map(&[("k", &list)])).starts_with("key \"k\", document 1: it is neither"));
}
