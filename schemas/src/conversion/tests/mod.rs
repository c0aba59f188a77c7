//! Tests of the conversion: known objects, and laws that hold for any object.

mod any;
mod known;
mod laws;

use std::collections::BTreeMap;

use machinery::schema::Schema;
use serde_json::Value;

use super::convert;

pub const GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// The versions of a kind, by name: each as written in the CustomResourceDefinition, and parsed.
pub struct Kind {
    pub name: String,
    pub written: BTreeMap<String, Value>,
    parsed: BTreeMap<String, Schema>,
}

/// Reads all kinds with a conversion.
pub fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    for crd in crate::crds().unwrap() {
        let spec = &crd["spec"];
        let name = spec["names"]["kind"].as_str().unwrap().to_owned();
        if !super::converts(spec["group"].as_str().unwrap(), &name) {
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
        kinds.push(Kind { name, parsed: parsed.collect(), written });
    }
    kinds
}

pub fn kind(name: &str) -> Kind {
    kinds().into_iter().find(|kind| kind.name == name).unwrap()
}

impl Kind {
    pub fn convert(&self, object: &Value, version: &str) -> Value {
        convert(GROUP, object.clone(), version, &|version| self.parsed.get(version))
    }

    /// Returns an object with any content. In the stored version it has no empty values that the schema does not allow.
    pub fn any(&self, version: &str, numbers: &mut any::Numbers) -> Value {
        let mut object = any::object(&self.name, version, &self.written[version], numbers);
        if version == super::STORED {
            super::empty::remove(&self.parsed[version], &mut object);
        }
        object
    }

    /// Returns whether the version declares all fields of the object, with these types. Field managers need that.
    pub fn fits(&self, object: &Value, version: &str) -> bool {
        let schema = &self.parsed[version];
        let unknown = machinery::schema::prune(schema, &mut object.clone());
        unknown.is_empty() && super::empty::has_types(schema, object)
    }
}
