//! Gathers what the rules of a write must know about other objects.

use registry::{Operation, Subresource};
use schemas::admission::{Fact, Facts, Features, Running, class_key, upgrades};
use schemas::cluster::Cluster;
use schemas::names::CLUSTER_NAME;
use serde::de::DeserializeOwned;
use serde_json::Value;

const CLUSTER_API: &str = "cluster.x-k8s.io";
const IPAM: &str = "ipam.cluster.x-k8s.io";
/// Label of the objects that the topology controller makes.
const TOPOLOGY_OWNED: &str = "topology.cluster.x-k8s.io/owned";

/// Reads objects, where the rules run: in the process of the API server, or in a cluster whose server calls webhooks.
pub trait Objects {
    /// Returns an object; `None` if it does not exist.
    ///
    /// # Errors
    /// A sentence: the object cannot be read.
    fn get(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>, String>;

    /// Returns all objects of a kind in a namespace, or in all if it is empty.
    ///
    /// # Errors
    /// A sentence: the objects cannot be read.
    fn list(&self, group: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, String>;
}

impl Objects for registry::Reader<'_> {
    fn get(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>, String> {
        Self::get(self, group, kind, namespace, name)
    }

    fn list(&self, group: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, String> {
        Self::list(self, group, kind, namespace)
    }
}

/// A write, in the version for which the rules are written.
pub(super) struct Change<'a> {
    pub(super) group: &'a str,
    pub(super) kind: &'a str,
    pub(super) subresource: Subresource,
    pub(super) operation: Operation,
    /// The object after the write. For a deletion, the object that is deleted.
    pub(super) new: &'a Value,
    pub(super) old: Option<&'a Value>,
}

/// Reads the facts that the rules of a write need. Most writes need none.
pub(super) fn gather(change: &Change<'_>, features: Features, objects: &dyn Objects) -> Facts {
    let Change { group, kind, subresource, operation, new, old } = *change;
    if subresource != Subresource::None {
        return Facts::default();
    }
    match (group, kind, operation) {
        (CLUSTER_API, "Cluster", Operation::Create | Operation::Update) if features.cluster_topology => {
            of_cluster(new, old, objects)
        }
        // A class that is used stays, also when the feature is off.
        (CLUSTER_API, "ClusterClass", Operation::Delete) => of_class(new, objects),
        (CLUSTER_API, "ClusterClass", Operation::Update) if features.cluster_topology => {
            of_class(new, objects)
        }
        (IPAM, "InClusterIPPool" | "GlobalInClusterIPPool", Operation::Delete) => of_pool(kind, new, objects),
        (IPAM, "InClusterIPPool" | "GlobalInClusterIPPool", Operation::Update)
            if old.is_some_and(|old| old["spec"] != new["spec"]) =>
        {
            of_pool(kind, new, objects)
        }
        (IPAM, "IPAddress", Operation::Create) => {
            let claim = new["spec"]["claimRef"]["name"].as_str().unwrap_or_default();
            let claim = one(objects, IPAM, "IPAddressClaim", (namespace(new), claim));
            Facts { claim: claim.into(), ..Facts::default() }
        }
        _ => Facts::default(),
    }
}

fn of_cluster(new: &Value, old: Option<&Value>, objects: &dyn Objects) -> Facts {
    let Some(key) = class_key(new) else { return Facts::default() };
    let class = |key| one(objects, CLUSTER_API, "ClusterClass", key).into();
    let old_key = old.and_then(class_key).filter(|old| *old != key);
    Facts {
        class: class(key),
        old_class: old_key.map_or(Fact::Unread, class),
        running: match old {
            Some(old) if upgrades(new, old) => running(old, objects).into(),
            _ => Fact::Unread,
        },
        ..Facts::default()
    }
}

fn of_class(class: &Value, objects: &dyn Objects) -> Facts {
    let wanted = Some((namespace(class), class["metadata"]["name"].as_str().unwrap_or_default()));
    let clusters = objects.list(CLUSTER_API, "Cluster", "").and_then(|clusters| {
        let users = clusters.into_iter().filter(|cluster| class_key(cluster) == wanted);
        users.map(typed::<Cluster>).collect()
    });
    Facts { clusters: clusters.into(), ..Facts::default() }
}

/// Reads the addresses that a pool has given.
fn of_pool(kind: &str, pool: &Value, objects: &dyn Objects) -> Facts {
    let name = &pool["metadata"]["name"];
    let is_of_pool = |address: &Value| {
        let reference = &address["spec"]["poolRef"];
        reference["apiGroup"] == IPAM && reference["kind"] == kind && reference["name"] == *name
    };
    let parsed = |address: Value| address["spec"]["address"].as_str().and_then(|text| text.parse().ok());
    // The addresses of a global pool are in all namespaces.
    let found = objects.list(IPAM, "IPAddress", namespace(pool));
    let allocated = found.map(|found| found.into_iter().filter(is_of_pool).filter_map(parsed).collect());
    Facts { allocated: allocated.into(), ..Facts::default() }
}

/// Reads the parts of a Cluster that must have its version before it gets another.
fn running(cluster: &Value, objects: &dyn Objects) -> Result<Running, String> {
    let namespace = namespace(cluster);
    let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
    let reference = &cluster["spec"]["controlPlaneRef"];
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let control_plane = match text("name") {
        "" => None,
        name => objects.get(text("apiGroup"), text("kind"), namespace, name)?,
    };
    Ok(Running {
        control_plane,
        machine_deployments: of_topology(objects, "MachineDeployment", (namespace, name))?,
        machine_pools: of_topology(objects, "MachinePool", (namespace, name))?,
        machines: of_name(objects, "Machine", (namespace, name))?.map(typed).collect::<Result<_, _>>()?,
    })
}

/// Returns the objects of a kind with the label of a Cluster that the topology controller made.
fn of_topology<T: DeserializeOwned>(
    objects: &dyn Objects,
    kind: &str,
    cluster: (&str, &str),
) -> Result<Vec<T>, String> {
    let found = of_name(objects, kind, cluster)?;
    found.filter(|object| object["metadata"]["labels"].get(TOPOLOGY_OWNED).is_some()).map(typed).collect()
}

fn of_name<'a>(
    objects: &dyn Objects,
    kind: &str,
    (namespace, cluster): (&str, &'a str),
) -> Result<impl Iterator<Item = Value> + use<'a>, String> {
    let found = objects.list(CLUSTER_API, kind, namespace)?;
    Ok(found.into_iter().filter(move |object| object["metadata"]["labels"][CLUSTER_NAME] == cluster))
}

fn one<T: DeserializeOwned>(
    objects: &dyn Objects,
    group: &str,
    kind: &str,
    (namespace, name): (&str, &str),
) -> Result<Option<Box<T>>, String> {
    let found = objects.get(group, kind, namespace, name)?;
    found.map(|object| typed(object).map(Box::new)).transpose()
}

fn typed<T: DeserializeOwned>(object: Value) -> Result<T, String> {
    let name = format!("{} {}", object["kind"].as_str().unwrap_or_default(), object["metadata"]["name"]);
    serde_json::from_value(object)
        .map_err(|error| format!("{name} has another form than its schema says: {error}"))
}

fn namespace(object: &Value) -> &str {
    machinery::meta::namespace(object)
}
