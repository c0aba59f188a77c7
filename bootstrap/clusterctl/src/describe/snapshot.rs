//! The objects of a cluster at one time.

use serde_json::Value;

/// Objects that can be found by kind and name.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    objects: Vec<Value>,
    /// The contract that the control plane's kind implements.
    pub(super) control_plane_contract: String,
}

/// The object that another one refers to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reference {
    pub group: String,
    pub kind: String,
    pub name: String,
}

impl Snapshot {
    /// Makes a snapshot of any objects of one namespace.
    pub fn new(objects: Vec<Value>) -> Self {
        Self { objects, control_plane_contract: "v1beta2".to_owned() }
    }

    /// The objects of a kind, in the order in which they were given.
    pub(super) fn of_kind<'a>(&'a self, group: &'a str, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter(move |object| object["kind"] == kind && group_of(object) == group)
    }

    pub(super) fn get(&self, reference: &Reference, namespace: &str) -> Option<&Value> {
        self.objects.iter().find(|object| {
            object["kind"] == reference.kind.as_str()
                && group_of(object) == reference.group
                && object["metadata"]["name"] == reference.name.as_str()
                && object["metadata"]["namespace"] == namespace
        })
    }
}

fn group_of(object: &Value) -> &str {
    object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
}

impl Reference {
    /// Reads a reference, with a group or (as in v1beta1) an API version; `None` if it names nothing.
    pub fn read(value: Option<&Value>) -> Option<Self> {
        let value = value?;
        let text = |field: &str| value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let version =
            || text("apiVersion").and_then(|version| version.split_once('/')).map(|(group, _)| group);
        let group = text("apiGroup").or_else(version).unwrap_or_default();
        Some(Self { group: group.to_owned(), kind: text("kind")?.to_owned(), name: text("name")?.to_owned() })
    }
}
