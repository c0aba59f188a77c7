//! Reads objects as the API server returns them. Pure.

use machinery::meta;
use schemas::names::CLUSTER_NAME;
use serde_json::Value;

/// The kinds of providers whose controllers run in a plan.
const BUILT_IN: [&str; 5] =
    ["DevCluster", "DevMachine", "DevMachinePool", "KubeadmConfig", "KubeadmControlPlane"];

/// The kind and the name of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference<'a> {
    /// The API group.
    pub group: &'a str,
    /// The kind, such as `Machine`.
    pub kind: &'a str,
    /// The namespace; empty for objects that are in none.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
}

impl<'a> Reference<'a> {
    /// Returns the reference to an object.
    pub fn of(object: &'a Value) -> Self {
        Self {
            group: meta::group_version(meta::api_version(object)).0,
            kind: meta::kind(object),
            namespace: meta::namespace(object),
            name: meta::name(object),
        }
    }

    /// Reads a reference such as `spec.infrastructureRef` of an object in `namespace`; `None` if it names no object.
    pub fn read(reference: &'a Value, namespace: &'a str) -> Option<Self> {
        Some(Self {
            group: reference["apiGroup"].as_str()?,
            kind: reference["kind"].as_str()?,
            namespace,
            name: reference["name"].as_str()?,
        })
    }

    /// Returns the key under which the object is known in a plan.
    pub fn key(&self) -> String {
        format!("{}/{}/{}/{}", self.group, self.kind, self.namespace, self.name)
    }
}

/// Returns the label of an object.
pub fn label<'a>(object: &'a Value, label: &str) -> Option<&'a str> {
    meta::labels(object)?.get(label)?.as_str()
}

/// Returns namespace and name of the Cluster that an object belongs to, such as `default/blue`; `None` if it belongs to none.
pub fn cluster_of(object: &Value) -> Option<String> {
    let reference = Reference::of(object);
    let is_cluster = (reference.group, reference.kind) == ("cluster.x-k8s.io", "Cluster");
    let named = object["spec"]["clusterName"].as_str().or_else(|| label(object, CLUSTER_NAME));
    let cluster = if is_cluster { reference.name } else { named? };
    Some(format!("{}/{cluster}", reference.namespace))
}

/// Returns whether an object is one of a provider that a stand-in represents.
pub fn is_foreign(object: &Value) -> bool {
    let Reference { group, kind, .. } = Reference::of(object);
    let of_core = ["cluster.x-k8s.io", "ipam.cluster.x-k8s.io"].contains(&group);
    !of_core && !BUILT_IN.contains(&kind) && !kind.ends_with("Template")
}
