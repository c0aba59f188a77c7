//! What the user wants of a cluster, and what is missing until it is so.

use serde_json::Value;

use super::manifests::VERSIONS;
use super::script::ClusterShape;
use crate::invariants::{FOREIGN, View, conditions_at_rest, is_deleting, is_true, label, name, namespace};

const CLUSTER: &str = "cluster.x-k8s.io/cluster-name";
/// Label of the objects that a topology has made.
const OWNED: &str = "topology.cluster.x-k8s.io/owned";

/// What the user wants of a cluster.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// How the cluster was first applied.
    pub shape: ClusterShape,
    /// Whether the cluster is to exist.
    pub exists: bool,
    /// Number of control plane Machines.
    pub control_plane: i64,
    /// Number of workers; `None` without a MachineDeployment.
    pub workers: Option<i64>,
    /// Position in [`VERSIONS`].
    pub version: usize,
    /// How often a variable of the class was changed.
    pub rollouts: u64,
    /// Whether it is to be of its second class.
    pub is_of_second_class: bool,
}

impl Wanted {
    /// Returns what is wanted before the cluster was applied.
    pub fn new(shape: &ClusterShape) -> Self {
        Self {
            shape: shape.clone(),
            exists: false,
            control_plane: shape.control_plane,
            workers: Some(shape.workers),
            version: 0,
            rollouts: 0,
            is_of_second_class: false,
        }
    }

    /// Returns namespace and name.
    pub fn key(&self) -> String {
        format!("{}/{}", self.shape.namespace, self.shape.name)
    }

    /// Returns the key of an object of this cluster in the store; `suffix` follows the cluster's name.
    pub fn object(&self, group: &str, plural: &str, suffix: &str) -> String {
        format!("/registry/{group}/{plural}/{}{suffix}", self.key())
    }

    /// Returns the key of the MachineDeployment.
    pub fn deployment(&self, view: &View) -> String {
        let fixed = self.object("cluster.x-k8s.io", "machinedeployments", "-workers");
        self.named(view, "MachineDeployment", fixed)
    }

    /// Returns the key of the control plane.
    pub fn plane(&self, view: &View) -> String {
        let fixed = self.object("controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes", "-control-plane");
        self.named(view, "KubeadmControlPlane", fixed)
    }

    /// Returns the key of the only object of a kind. Its name is generated if the cluster is of a class.
    fn named(&self, view: &View, kind: &str, fixed: String) -> String {
        let found = self.objects(view, kind).map(|(key, _)| key.to_owned()).next();
        found.filter(|_| self.shape.is_of_class).unwrap_or(fixed)
    }

    /// Returns the key of the Cluster.
    pub fn cluster(&self) -> String {
        self.object("cluster.x-k8s.io", "clusters", "")
    }

    /// Returns the key of the DevCluster.
    pub fn infrastructure(&self, view: &View) -> String {
        let fixed = self.object("infrastructure.cluster.x-k8s.io", "devclusters", "");
        self.named(view, "DevCluster", fixed)
    }

    /// Returns whether an object belongs to this cluster.
    pub fn has(&self, object: &Value) -> bool {
        namespace(object) == self.shape.namespace
            && label(object, FOREIGN).is_none()
            && (label(object, CLUSTER) == Some(&self.shape.name)
                || (object["kind"] == "Cluster" && name(object) == self.shape.name))
    }

    /// Returns the objects of a kind of this cluster, with their keys.
    pub fn objects<'a>(
        &'a self,
        view: &'a View,
        kind: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Value)> {
        view.objects().filter(move |(_, object)| object["kind"] == kind && self.has(object))
    }

    /// Returns what is missing until the cluster is as wanted; empty if it is.
    pub fn missing(&self, view: &View) -> Vec<String> {
        if !self.exists {
            return self.left(view);
        }
        let mut missing = Vec::new();
        let wanted = self.control_plane + self.workers.unwrap_or_default();
        let machines: Vec<&Value> = self.objects(view, "Machine").map(|(_, machine)| machine).collect();
        if i64::try_from(machines.len()) != Ok(wanted) {
            missing.push(format!("{}: {} Machines, wants {wanted}", self.key(), machines.len()));
        }
        let is_other = |machine: &&&Value| machine["spec"]["version"] != VERSIONS[self.version];
        missing.extend(
            machines
                .iter()
                .filter(is_other)
                .map(|machine| format!("Machine {} has another version", name(machine))),
        );
        self.counters(view, &mut missing);
        if !view.get(&self.cluster()).is_some_and(|cluster| is_true(cluster, "Available")) {
            missing.push(format!("Cluster {} is not Available", self.key()));
        }
        let all = view.objects().filter(|(_, object)| self.has(object));
        missing.extend(all.flat_map(|(_, object)| {
            let mut bad = conditions_at_rest(object);
            bad.extend(
                is_deleting(object).then(|| format!("{} {} is being deleted", object["kind"], name(object))),
            );
            bad
        }));
        missing
    }

    fn counters(&self, view: &View, missing: &mut Vec<String>) {
        let owners = [(self.plane(view), Some(self.control_plane)), (self.deployment(view), self.workers)];
        for (key, replicas) in owners {
            let (Some(replicas), owner) = (replicas, view.get(&key)) else {
                missing.extend(view.get(&key).map(|_| format!("{key} is still there")));
                continue;
            };
            for field in ["replicas", "readyReplicas", "availableReplicas", "upToDateReplicas"] {
                let found = owner.map_or(&Value::Null, |owner| &owner["status"][field]);
                if *found != replicas {
                    missing.push(format!("{key}: status.{field} is {found}, wants {replicas}"));
                }
            }
        }
    }

    /// Returns what is left of a deleted cluster. Templates and health checks of the user may stay without their Cluster, but not those that
    /// its topology has made.
    fn left(&self, view: &View) -> Vec<String> {
        const LEFT_BY_THE_USER: [&str; 3] = ["DevMachineTemplate", "KubeadmConfigTemplate", "ConfigMap"];
        let all = view.objects().filter(|(_, object)| self.has(object));
        let is_of_user = |object: &Value| {
            label(object, OWNED).is_none() && LEFT_BY_THE_USER.iter().any(|kind| object["kind"] == *kind)
        };
        all.filter(|(_, object)| !is_of_user(object))
            .map(|(key, _)| format!("{key} is still there"))
            .collect()
    }
}
