//! Tests of the conversion between the versions of kinds: known objects, and laws that hold for any object.

// Everything here is test code.

mod any;
mod known;
mod laws;
mod metal3_known;
mod metal3_laws;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use machinery::schema::{Schema, validate_values};
use schemas::conversion::{Server, convert, converts};
use serde_json::Value;

const METAL3: &str = "infrastructure.cluster.x-k8s.io";
const STORED: &str = "v1beta2";
const ANNOTATION: &str = "cluster.x-k8s.io/conversion-data";

/// The versions of a kind, by name: each as written in the CustomResourceDefinition, and parsed.
struct Kind {
    group: String,
    name: String,
    written: BTreeMap<String, Value>,
    parsed: BTreeMap<String, Schema>,
}

/// Returns all kinds with a conversion.
fn kinds() -> &'static [Kind] {
    static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(read);
    &KINDS
}

fn read() -> Vec<Kind> {
    let mut kinds = Vec::new();
    for crd in schemas::crds().unwrap() {
        let spec = &crd["spec"];
        let (group, name) = (spec["group"].as_str().unwrap(), spec["names"]["kind"].as_str().unwrap());
        if !converts(group, name) {
            continue;
        }
        let versions = spec["versions"].as_array().unwrap().iter();
        let written: BTreeMap<String, Value> = versions
            .map(|version| {
                let schema = version["schema"]["openAPIV3Schema"].clone();
                (version["name"].as_str().unwrap().to_owned(), schema)
            })
            .collect();
        let parsed = written.iter().map(|(name, schema)| (name.clone(), Schema::parse(schema).unwrap()));
        kinds.push(Kind {
            group: group.to_owned(),
            name: name.to_owned(),
            parsed: parsed.collect(),
            written,
        });
    }
    kinds
}

fn metal3_kinds() -> impl Iterator<Item = &'static Kind> {
    kinds().iter().filter(|kind| kind.name.starts_with("Metal3"))
}

fn kind(name: &str) -> &'static Kind {
    kinds().iter().find(|kind| kind.name == name).unwrap()
}

/// The version that implements the contract, of any kind that this test knows.
fn contract_version(_: &str, kind: &str) -> Option<String> {
    (!kind.starts_with("Unknown")).then(|| STORED.to_owned())
}

impl Kind {
    fn convert(&self, object: &Value, version: &str) -> Value {
        let schema = |version: &str| self.parsed.get(version);
        let server = Server { schema: &schema, contract_version: &contract_version };
        convert(&self.group, object.clone(), version, &server)
    }

    fn older_versions(&self) -> impl Iterator<Item = &str> {
        self.written.keys().map(String::as_str).filter(|version| *version != STORED)
    }

    /// Checks that the version declares all fields of the object, with these types. Field managers need that.
    #[track_caller]
    fn assert_fits(&self, object: &Value, version: &str) {
        let mut errors = self.errors(object, version);
        let types = ["array", "boolean", "integer", "number", "object", "string"];
        let is_type =
            |error: &str| types.iter().any(|name| error.contains(&format!("must be of type {name}")));
        errors.retain(|error| error.ends_with(": unknown") || is_type(error));
        assert_eq!(errors, Vec::<String>::new(), "{} {version}: {object:#}", self.name);
    }

    /// Returns what the schema of the version refuses.
    fn errors(&self, object: &Value, version: &str) -> Vec<String> {
        let mut object = object.clone();
        let unknown = machinery::schema::prune(&self.parsed[version], &mut object);
        let errors = validate_values(&self.parsed[version], &object, None);
        let unknown = unknown.into_iter().map(|path| format!("{path}: unknown"));
        unknown.chain(errors.iter().map(ToString::to_string)).collect()
    }
}

/// Fails and shows what differs if two objects are not equal.
#[track_caller]
fn assert_same(found: &Value, expected: &Value, about: &str) {
    let mut differences = Vec::new();
    differ("", found, expected, &mut differences);
    assert!(differences.is_empty(), "{about}:\n{}", differences.join("\n"));
}

fn differ(path: &str, found: &Value, expected: &Value, differences: &mut Vec<String>) {
    match (found, expected) {
        (Value::Object(a), Value::Object(b)) => {
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                differ(&format!("{path}/{name}"), &found[name], &expected[name], differences);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differ(&format!("{path}/{index}"), a, b, differences);
            }
        }
        _ if found == expected => {}
        _ => differences.push(format!("{path}: {found} instead of {expected}")),
    }
}
