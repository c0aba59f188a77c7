//! Laws of the conversion of Metal3's kinds, which loses nothing in either direction.

use serde_json::{Value, json};

use super::any::{Numbers, object, shape};
use super::{ANNOTATION, Kind, METAL3, metal3_kinds};

const OBJECTS: u64 = 200;

fn for_any(law: impl Fn(&Kind, &str, &str, Value, &mut dyn FnMut(&str) -> Value, &mut Numbers)) {
    for kind in metal3_kinds() {
        let shapes = ["v1beta1", "v1beta2"].map(|version| shape(&kind.written[version], false));
        for seed in 0..OBJECTS {
            for (from, to) in [("v1beta1", "v1beta2"), ("v1beta2", "v1beta1")] {
                let any = |version: &str, numbers: &mut Numbers| {
                    object(METAL3, &kind.name, version, &shapes[usize::from(version == "v1beta2")], numbers)
                };
                let mut numbers = Numbers(seed);
                let first = any(from, &mut numbers);
                let mut others = Numbers(seed + OBJECTS);
                law(kind, from, to, first, &mut |version| any(version, &mut others), &mut numbers);
            }
        }
    }
}

fn without_kept(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else {
        return object;
    };
    annotations.remove(ANNOTATION);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    object
}

#[test]
fn there_and_back_is_identical() {
    for_any(|kind, from, to, object, _, _| {
        let there = kind.convert(&object, to);
        let back = kind.convert(&there, from);
        assert_eq!(back, object, "{} {from}, by {there:#}", kind.name);
        assert_eq!(kind.convert(&back, to), there, "{} {from}", kind.name);
        kind.assert_fits(&there, to);
    });
}

/// A client that writes one version over what another client wrote in the other version gets back what it wrote.
#[test]
fn what_is_written_is_read() {
    for_any(|kind, from, to, object, any, _| {
        let mut shown = kind.convert(&object, to);
        let written = any(to);
        for part in ["spec", "status"] {
            shown[part] = written[part].clone();
            if shown[part].is_null() {
                shown.as_object_mut().unwrap().remove(part);
            }
        }
        let stored = kind.convert(&shown, from);
        let read = kind.convert(&stored, to);
        assert_eq!(without_kept(read), without_kept(shown), "{} {to}, stored as {stored:#}", kind.name);
    });
}

/// A change in one version changes nothing else in the other.
#[test]
fn a_change_of_metadata_changes_only_metadata() {
    for_any(|kind, from, to, object, _, _| {
        let mut there = kind.convert(&object, to);
        there["metadata"]["labels"] = json!({ "a": "b" });
        let back = kind.convert(&there, from);
        let mut expected = object;
        expected["metadata"]["labels"] = json!({ "a": "b" });
        assert_eq!(back, expected, "{}", kind.name);
    });
}

#[test]
fn an_annotation_of_any_content_is_harmless() {
    let version = |version: &str| json!(format!("{}/{version}", METAL3));
    let mut contents = vec![json!("no JSON").to_string(), String::new(), "[".repeat(200_000), "5".to_owned()];
    for name in ["v1beta1", "v1beta2"] {
        contents.push(json!({ "apiVersion": version(name), "spec": 5, "status": [] }).to_string());
        contents.push(
            json!({ "apiVersion": version(name), "spec": { "template": 5, "failureDomains": "a", "image": [] } })
                .to_string(),
        );
    }
    for_any(|kind, from, to, object, _, numbers| {
        let mut object = object;
        object["metadata"]["annotations"][ANNOTATION] = json!(contents[numbers.below(contents.len())]);
        let there = kind.convert(&object, to);
        kind.assert_fits(&there, to);
        let back = without_kept(kind.convert(&there, from));
        assert_eq!(back, without_kept(object), "{}, by {there:#}", kind.name);
    });
}
