//! Laws of the conversion of Cluster API's own kinds.

use serde_json::{Map, Value, json};

use super::any::{Numbers, Shape, object, shape};
use super::{ANNOTATION, Kind, STORED, assert_same, kinds};

const OBJECTS: u64 = 100;

/// A kind and one of its older versions, with the objects that both can have.
struct Pair {
    kind: &'static Kind,
    older: String,
    shapes: [Shape; 2],
}

impl Pair {
    fn any_older(&self, numbers: &mut Numbers) -> Value {
        object(&self.kind.group, &self.kind.name, &self.older, &self.shapes[0], numbers)
    }

    fn any_stored(&self, numbers: &mut Numbers) -> Value {
        object(&self.kind.group, &self.kind.name, STORED, &self.shapes[1], numbers)
    }

    fn down(&self, object: &Value) -> Value {
        self.kind.convert(object, &self.older)
    }

    fn up(&self, object: &Value) -> Value {
        self.kind.convert(object, STORED)
    }

    fn title(&self) -> String {
        format!("{} {}", self.kind.name, self.older)
    }
}

fn for_any(law: impl Fn(&Pair, &mut Numbers)) {
    for kind in kinds().iter().filter(|kind| !kind.name.starts_with("Metal3")) {
        for older in kind.older_versions().map(str::to_owned) {
            let shapes = [&older, STORED].map(|version| shape(&kind.written[version], true));
            let pair = Pair { kind, older, shapes };
            for seed in 0..OBJECTS {
                law(&pair, &mut Numbers(seed));
            }
        }
    }
}

/// Only the order and an absent `controlPlane` of failure domains are lost, and only where upstream keeps nothing.
#[test]
fn stored_objects_come_back_identical() {
    for_any(|pair, numbers| {
        let stored = pair.any_stored(numbers);
        let shown = pair.down(&stored);
        let mut expected = stored.clone();
        if pair.kind.name == "DevClusterTemplate" {
            let domains = expected.pointer_mut("/spec/template/spec/backend/docker/failureDomains");
            if let Some(domains) = domains.and_then(Value::as_array_mut) {
                domains.sort_by_key(|domain| domain["name"].to_string());
                domains.iter_mut().for_each(|domain| {
                    domain.as_object_mut().unwrap().entry("controlPlane").or_insert(json!(false));
                });
            }
        }
        let back = pair.up(&shown);
        assert_same(&without_empty_status(back), &without_empty_status(expected), &pair.title());
    });
}

/// What a client reads in an older version, it can write.
#[test]
fn shown_objects_are_valid() {
    for_any(|pair, numbers| {
        let stored = pair.any_stored(numbers);
        let shown = pair.down(&stored);
        assert_eq!(pair.kind.errors(&shown, &pair.older), Vec::<String>::new(), "{}", pair.title());
    });
}

#[test]
fn older_objects_come_back_but_for_what_upstream_drops() {
    for_any(|pair, numbers| {
        let older = pair.any_older(numbers);
        let stored = pair.up(&older);
        assert!(stored["metadata"]["annotations"].get(ANNOTATION).is_none(), "{}", pair.title());
        pair.kind.assert_fits(&stored, STORED);
        let back = pair.down(&stored);
        assert_same(&comparable(&back), &comparable(&older), &pair.title());
    });
}

/// A client that writes in the older version over what it read gets back what it wrote.
#[test]
fn what_is_written_is_read() {
    for_any(|pair, numbers| {
        let stored = pair.any_stored(numbers);
        let mut shown = pair.down(&stored);
        let written = pair.any_older(numbers);
        for part in ["spec", "status"] {
            shown[part] = written[part].clone();
            if shown[part].is_null() {
                shown.as_object_mut().unwrap().remove(part);
            }
        }
        let read = pair.down(&pair.up(&shown));
        assert_same(&comparable(&read), &comparable(&shown), &pair.title());
    });
}

#[test]
fn a_change_of_metadata_changes_only_metadata() {
    for_any(|pair, numbers| {
        let stored = pair.any_stored(numbers);
        let mut shown = pair.down(&stored);
        shown["metadata"]["labels"]["a"] = json!("b");
        let mut expected = pair.up(&pair.down(&stored));
        expected["metadata"]["labels"]["a"] = json!("b");
        assert_same(&pair.up(&shown), &expected, &pair.title());
    });
}

#[test]
fn an_annotation_of_any_content_is_harmless() {
    let contents = [
        "no JSON",
        "",
        "5",
        r#"{"spec":5,"status":[]}"#,
        r#"{"spec":{"topology":5,"template":[]},"status":{"failureDomains":"a"}}"#,
    ];
    for_any(|pair, numbers| {
        let mut older = pair.any_older(numbers);
        older["metadata"]["annotations"][ANNOTATION] = json!(contents[numbers.below(contents.len())]);
        let stored = pair.up(&older);
        pair.kind.assert_fits(&stored, STORED);
        assert_same(&comparable(&pair.down(&stored)), &comparable(&older), &pair.title());
    });
}

#[test]
fn older_versions_are_converted_to_each_other() {
    for name in ["IPAddressClaim", "IPAddress"] {
        let Some(kind) = kinds().iter().find(|kind| kind.name == name) else { continue };
        let older = json!({
            "apiVersion": format!("{}/v1alpha1", kind.group), "kind": name, "metadata": { "name": "a", "namespace": "site" },
            "spec": { "poolRef": { "apiGroup": "a.b", "kind": "Pool", "name": "p" } },
        });
        let newer = kind.convert(&older, "v1beta1");
        assert_eq!(newer["apiVersion"], format!("{}/v1beta1", kind.group));
        assert_eq!(kind.convert(&newer, "v1alpha1")["spec"], older["spec"]);
    }
}

/// Drops an empty status for older clients, which says nothing.
fn without_empty_status(mut object: Value) -> Value {
    for (parent, name) in [("/status/deprecated", "v1beta1"), ("/status", "deprecated"), ("", "status")] {
        let Some(fields) = object.pointer_mut(parent).and_then(Value::as_object_mut) else { continue };
        if fields.get(name).and_then(Value::as_object).is_some_and(Map::is_empty) {
            fields.remove(name);
        }
    }
    object
}

/// Returns what must be the same after a conversion of an object in an older version to `v1beta2` and back. docs/decisions/versions.md
/// lists what upstream, and so this program, does not keep.
fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    let kind = object["kind"].as_str().unwrap().to_owned();
    if let Some(annotations) = object["metadata"].get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
        annotations.remove("conversion.cluster.x-k8s.io/cluster-name-label-set");
    }
    if kind == "IPAddressClaim" {
        object["metadata"].as_object_mut().unwrap().remove("labels");
    }
    for name in DROPPED {
        drop_field(&mut object, name);
    }
    match kind.as_str() {
        // It follows from the number of ready machines.
        "KubeadmControlPlane" => drop_field(&mut object, "/status/ready"),
        // There is only one type.
        "KubeadmControlPlaneTemplate" => drop_field(&mut object, "/spec/template/spec/rolloutStrategy/type"),
        _ => {}
    }
    lean("", &mut object);
    object
}

/// Fields that `v1beta2` does not have, and that mean nothing any more.
const DROPPED: [&str; 17] = [
    "/spec/topology/rolloutAfter",
    "/spec/topology/variables/definitionFrom",
    "/spec/topology/controlPlane/variables/overrides/definitionFrom",
    "/spec/topology/workers/machineDeployments/variables/overrides/definitionFrom",
    "/spec/topology/workers/machinePools/variables/overrides/definitionFrom",
    "/spec/progressDeadlineSeconds",
    "/spec/revisionHistoryLimit",
    "*/clusterConfiguration/apiVersion",
    "*/clusterConfiguration/kind",
    "*/clusterConfiguration/clusterName",
    "*/clusterConfiguration/kubernetesVersion",
    "*/clusterConfiguration/networking",
    "*/initConfiguration/apiVersion",
    "*/initConfiguration/kind",
    "*/joinConfiguration/apiVersion",
    "*/joinConfiguration/kind",
    "*/useExperimentalRetryJoin",
];

fn drop_field(object: &mut Value, place: &str) {
    if let Some(rest) = place.strip_prefix('*') {
        for spec in [
            "/spec",
            "/spec/template/spec",
            "/spec/kubeadmConfigSpec",
            "/spec/template/spec/kubeadmConfigSpec",
        ] {
            if let Some(spec) = object.pointer_mut(spec) {
                drop_field(spec, rest);
            }
        }
        return;
    }
    let Some((first, rest)) = place.trim_start_matches('/').split_once('/') else {
        if let Some(fields) = object.as_object_mut() {
            fields.remove(place.trim_start_matches('/'));
        }
        return;
    };
    let rest = format!("/{rest}");
    match object.get_mut(first) {
        Some(Value::Array(items)) => items.iter_mut().for_each(|item| drop_field(item, &rest)),
        Some(inner) => drop_field(inner, &rest),
        None => {}
    }
}

/// Drops what Go does not write, and gives references and durations their normal form.
fn lean(name: &str, value: &mut Value) {
    if let Value::Object(fields) = value {
        let is_reference = fields.contains_key("fieldPath")
            || fields.contains_key("resourceVersion")
            || fields.contains_key("uid")
            || name.ends_with("Ref")
            || name == "ref"
            || name == "remediationTemplate";
        if is_reference && name != "metadata" && name != "classRef" && name != "poolRef" {
            for field in ["apiVersion", "fieldPath", "namespace", "resourceVersion", "uid"] {
                fields.remove(field);
            }
            if name == "nodeRef" {
                fields.remove("kind");
            }
        }
        fields.iter_mut().for_each(|(name, field)| lean(name, field));
        fields.retain(|_, field| !is_zero(field));
    } else if let Value::Array(items) = value {
        items.iter_mut().for_each(|item| lean(name, item));
    } else if let Some(text) = value.as_str() {
        let normal = match text {
            "600s" | "10m" => "10m0s",
            "1.5s" => "1s",
            "0s" => "",
            "99999h" => "99999h0m0s",
            text => text,
        };
        *value = json!(normal);
    }
}

fn is_zero(value: &Value) -> bool {
    *value == false
        || value.as_i64() == Some(0)
        || value.as_str() == Some("")
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(Map::is_empty)
}
