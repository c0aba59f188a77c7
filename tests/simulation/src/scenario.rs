//! The steps of a user, and the conditions under which a step is complete.

use serde_json::Value;

use crate::invariants::Invariants;
use crate::manifests::Shape;

/// One step of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Applies the cluster in this shape and waits until it is ready.
    Reach(Shape),
    /// Deletes this number of control plane Machines at once and waits for their replacements.
    Replace(usize, Shape),
    /// Deletes the cluster and waits until all of its objects are gone.
    Delete,
}

const OLD: &str = "v1.35.0";
const NEW: &str = "v1.36.0";

/// Creates a cluster, scales the control plane (1 -> 3 -> 5 -> 3) and the workers, upgrades by one minor
/// version, and deletes the cluster.
pub const WHOLE_LIFE: &[Step] = &[
    Step::Reach(Shape { control_plane: 1, workers: 1, version: OLD }),
    Step::Reach(Shape { control_plane: 3, workers: 2, version: OLD }),
    Step::Reach(Shape { control_plane: 5, workers: 2, version: OLD }),
    Step::Reach(Shape { control_plane: 3, workers: 1, version: OLD }),
    Step::Reach(Shape { control_plane: 3, workers: 1, version: NEW }),
    Step::Delete,
];

/// Creates, upgrades and deletes a cluster. It is small enough for a kill at each request.
pub const SHORT_LIFE: &[Step] = &[
    Step::Reach(Shape { control_plane: 1, workers: 1, version: OLD }),
    Step::Reach(Shape { control_plane: 1, workers: 1, version: NEW }),
    Step::Delete,
];

const THREE: Shape = Shape { control_plane: 3, workers: 1, version: NEW };

/// Creates a cluster and deletes two of the three control plane Machines at once.
pub const TWO_AT_ONCE: &[Step] = &[Step::Reach(THREE), Step::Replace(2, THREE)];

/// The unmet conditions of `step`; empty when it is complete.
pub fn missing(step: Step, invariants: &Invariants) -> Vec<String> {
    match step {
        Step::Delete => {
            let left = invariants.orphans();
            left.into_iter().map(|key| format!("{key} is still there")).collect()
        }
        Step::Reach(shape) => missing_for(shape, invariants),
        Step::Replace(_, shape) => {
            let mut missing = missing_for(shape, invariants);
            let deleted = invariants.deleted().iter().filter(|key| invariants.get(key).is_some());
            missing.extend(deleted.map(|key| format!("{key} is still there")));
            missing
        }
    }
}

fn missing_for(shape: Shape, invariants: &Invariants) -> Vec<String> {
    let mut missing = Vec::new();
    let of_kind = |kind: &'static str| -> Vec<&Value> {
        invariants.objects().map(|(_, object)| object).filter(|object| object["kind"] == kind).collect()
    };
    let machines = of_kind("Machine");
    let wanted = shape.control_plane + shape.workers;
    if machines.len() as i64 != wanted {
        missing.push(format!("{} Machines, wants {wanted}", machines.len()));
    }
    for machine in machines {
        let name = machine["metadata"]["name"].as_str().unwrap_or_default();
        if machine["spec"]["version"] != shape.version {
            missing.push(format!("Machine {name} has version {}", machine["spec"]["version"]));
        }
        if machine["metadata"]["deletionTimestamp"].is_string() {
            missing.push(format!("Machine {name} is being deleted"));
        }
    }
    for (kind, replicas) in
        [("KubeadmControlPlane", shape.control_plane), ("MachineDeployment", shape.workers)]
    {
        for object in of_kind(kind) {
            for field in ["replicas", "readyReplicas", "availableReplicas", "upToDateReplicas"] {
                let found = &object["status"][field];
                if *found != replicas {
                    missing.push(format!("{kind} status.{field} is {found}, wants {replicas}"));
                }
            }
            if object["status"]["observedGeneration"] != object["metadata"]["generation"] {
                missing.push(format!("{kind} has not observed its generation"));
            }
        }
    }
    let clusters = of_kind("Cluster");
    let available = |cluster: &&Value| {
        let conditions = cluster["status"]["conditions"].as_array();
        conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Available" && condition["status"] == "True")
    };
    if clusters.len() != 1 || !clusters.iter().all(available) {
        let conditions = clusters.first().map(|cluster| cluster["status"]["conditions"].to_string());
        missing.push(format!("the Cluster is not Available: {}", conditions.unwrap_or_default()));
    }
    missing
}
