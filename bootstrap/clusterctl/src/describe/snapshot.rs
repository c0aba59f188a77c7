//! The objects of a cluster at one moment.

use serde_json::Value;

/// Objects, found by what they are.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    objects: Vec<Value>,
    /// The contract that the kind of the control plane implements.
    pub(super) control_plane_contract: String,
}

/// Whom an object refers to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reference {
    pub group: String,
    pub kind: String,
    pub name: String,
}

impl Snapshot {
    /// Any objects of one namespace.
    pub fn new(objects: Vec<Value>) -> Self {
        Self { objects, control_plane_contract: "v1beta2".to_owned() }
    }

    /// The objects of a kind, in the order in which they are known.
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
    /// A reference by group, or as v1beta1 had it by version; `None` where it names nothing.
    pub fn read(value: Option<&Value>) -> Option<Self> {
        let value = value?;
        let text = |field: &str| value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let version =
            || text("apiVersion").and_then(|version| version.split_once('/')).map(|(group, _)| group);
        let group = text("apiGroup").or_else(version).unwrap_or_default();
        Some(Self { group: group.to_owned(), kind: text("kind")?.to_owned(), name: text("name")?.to_owned() })
    }
}
