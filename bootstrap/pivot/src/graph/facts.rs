//! The relations that one object states: its owners, its Cluster and the objects that it names.

use serde_json::Value;

use crate::kinds::Kind;
use crate::names;
use crate::object::Key;

/// An owner reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The owner's identity at the source.
    pub uid: String,
    /// `Kind name`, for messages.
    pub name: String,
}

/// The relations that one object states.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Its owners.
    pub owners: Vec<Owner>,
    /// Whether its kind, or a label on the object itself, makes it move.
    pub moves: bool,
    /// Whether it moves together with everything that it owns.
    pub moves_hierarchy: bool,
    /// Whether it is cluster-scoped.
    pub global: bool,
    /// Whether its deletion has begun.
    pub deleting: bool,
    /// The ClusterClass of a Cluster.
    pub class: Option<Key>,
    /// The Cluster that clusterctl treats as its owner: of a Secret that is named after the Cluster, or of the binding of its
    /// ClusterResourceSets.
    pub cluster: Option<Key>,
    /// A Cluster that clusterctl's rules do not find: the one in `spec.clusterName` or, if the object has no owner, the one that its
    /// label names.
    pub labelled: Option<Key>,
    /// Objects that it names and that clusterctl's rules do not find: credentials, contents, pools, templates.
    pub needs: Vec<Need>,
}

/// A reference to another object by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Group; empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// The namespace that the reference names; `None` means the namespace of the object itself.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

/// Last parts of the names of a Cluster's own Secrets (upstream's `secret.ParseSecretName`).
const PURPOSES: &[&str] = &["kubeconfig", "ca", "etcd", "proxy", "sa"];

/// A purpose that upstream's parser never finds, because it contains the separator.
const ETCD_CLIENT: &str = "-apiserver-etcd-client";

impl Facts {
    /// Reads the relations from an object.
    pub fn of(kind: &Kind, key: &Key, object: &Value) -> Self {
        let metadata = &object["metadata"];
        let owners: Vec<Owner> = metadata["ownerReferences"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|owner| Owner {
                uid: owner["uid"].as_str().unwrap_or_default().to_owned(),
                name: format!(
                    "{} {}",
                    owner["kind"].as_str().unwrap_or_default(),
                    owner["name"].as_str().unwrap_or_default()
                ),
            })
            .collect();
        let has_label = |name: &str| metadata["labels"][name].is_string();
        let (cluster, labelled) = clusters(key, object, owners.is_empty());
        Self {
            moves: kind.moves || has_label(names::MOVE),
            moves_hierarchy: kind.moves_hierarchy || has_label(names::MOVE_HIERARCHY),
            global: !kind.namespaced,
            deleting: metadata["deletionTimestamp"].is_string(),
            class: key.is_cluster().then(|| class(key, object)).flatten(),
            cluster,
            labelled,
            needs: if kind.group.is_empty() { Vec::new() } else { needs(&object["spec"]) },
            owners,
        }
    }
}

fn cluster_key(namespace: &str, name: &str) -> Key {
    Key {
        group: names::CLUSTER_GROUP.into(),
        kind: "Cluster".into(),
        namespace: namespace.into(),
        name: name.into(),
    }
}

/// Returns the ClusterClass that a Cluster names.
pub fn class(key: &Key, object: &Value) -> Option<Key> {
    let topology = &object["spec"]["topology"];
    let (name, namespace) = match topology["classRef"]["name"].as_str() {
        Some(name) => (name, topology["classRef"]["namespace"].as_str()),
        None => (topology["class"].as_str()?, topology["classNamespace"].as_str()),
    };
    Some(Key {
        group: names::CLUSTER_GROUP.into(),
        kind: "ClusterClass".into(),
        namespace: namespace.filter(|found| !found.is_empty()).unwrap_or(&key.namespace).into(),
        name: name.into(),
    })
}

/// Returns the Clusters that an object belongs to without an owner reference: first by clusterctl's rules, then by our further rules.
pub fn clusters(key: &Key, object: &Value, ownerless: bool) -> (Option<Key>, Option<Key>) {
    let beside = |name: &str| (!name.is_empty()).then(|| cluster_key(&key.namespace, name));
    if key.is(names::ADDONS_GROUP, "ClusterResourceSetBinding") {
        let name = object["spec"]["clusterName"].as_str().filter(|name| !name.is_empty());
        return (beside(name.unwrap_or(&key.name)), None);
    }
    // Its owners (a tool that applied it, a controller that made it) may stay behind, so the Cluster that it names counts as well.
    let stated = object["spec"]["clusterName"].as_str();
    if !ownerless {
        return (None, stated.and_then(beside));
    }
    if key.is("", "Secret") {
        let named = key.name.rsplit_once('-').filter(|(_, purpose)| PURPOSES.contains(purpose));
        if let Some((cluster, _)) = named {
            return (beside(cluster), None);
        }
        if let Some(cluster) = key.name.strip_suffix(ETCD_CLIENT) {
            return (None, beside(cluster));
        }
    }
    let label = object["metadata"]["labels"][names::CLUSTER_NAME].as_str();
    (None, stated.or(label).and_then(beside))
}

/// Returns all references to other objects in `spec`.
pub fn needs(spec: &Value) -> Vec<Need> {
    let mut found = Vec::new();
    walk("", spec, &mut found);
    found
}

fn walk(field: &str, value: &Value, found: &mut Vec<Need>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(field, item, found)),
        Value::Object(fields) => {
            if let Some(need) = reference(field, value).filter(|need| !found.contains(need)) {
                found.push(need);
            }
            for (name, value) in fields {
                match value {
                    Value::String(text) => {
                        let need = named(name, text).filter(|need| !found.contains(need));
                        found.extend(need);
                    }
                    _ => walk(name, value, found),
                }
            }
        }
        _ => {}
    }
}

fn reference(field: &str, value: &Value) -> Option<Need> {
    let text = |name: &str| value[name].as_str().filter(|text| !text.is_empty());
    let name = text("name")?;
    let namespace = text("namespace").map(ToOwned::to_owned);
    let (group, kind) = match text("kind") {
        Some(kind) => {
            let group = text("apiGroup").or_else(|| Some(text("apiVersion")?.split_once('/')?.0));
            (group.unwrap_or_default(), kind)
        }
        None => ("", core_kind(field)?),
    };
    Some(Need { group: group.into(), kind: kind.into(), namespace, name: name.into() })
}

/// Reads a field such as `secretName`, `credentialsName` or `configMapName`.
fn named(field: &str, name: &str) -> Option<Need> {
    let kind = core_kind(field.strip_suffix("Name")?)?;
    let named = !name.is_empty();
    named.then(|| Need { group: String::new(), kind: kind.into(), namespace: None, name: name.into() })
}

/// Returns the core kind that a field of this name refers to when the reference does not state its kind.
fn core_kind(field: &str) -> Option<&'static str> {
    // Fields of Metal3. The capitals matter: `metadata` is an object's own metadata.
    if matches!(field, "userData" | "metaData" | "networkData" | "preprovisioningNetworkData") {
        return Some("Secret");
    }
    let field = field.to_ascii_lowercase();
    if field.contains("secret") || field.contains("credential") {
        return Some("Secret");
    }
    field.contains("configmap").then_some("ConfigMap")
}
