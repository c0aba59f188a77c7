//! What a user does, and when the plane is where it should be.

use serde_json::Value;

use crate::invariants::Invariants;
use crate::manifests::Shape;

/// One step of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Applies the cluster in this shape and waits until it is there.
    Reach(Shape),
    /// Deletes so many of the control plane's Machines at once, and waits until there are others in their place.
    Replace(usize, Shape),
    /// Deletes the cluster and waits until nothing is left of it.
    Delete,
}

const OLD: &str = "v1.35.0";
const NEW: &str = "v1.36.0";

/// Create, scale the control plane 1 → 3 → 5 → 3 and the workers with it, upgrade by a minor version, delete.
pub const WHOLE_LIFE: &[Step] = &[
    Step::Reach(Shape { control_plane: 1, workers: 1, version: OLD }),
    Step::Reach(Shape { control_plane: 3, workers: 2, version: OLD }),
    Step::Reach(Shape { control_plane: 5, workers: 2, version: OLD }),
    Step::Reach(Shape { control_plane: 3, workers: 1, version: OLD }),
    Step::Reach(Shape { control_plane: 3, workers: 1, version: NEW }),
    Step::Delete,
];

/// Create, upgrade, delete: small enough to be interrupted at every single request.
pub const SHORT_LIFE: &[Step] = &[
    Step::Reach(Shape { control_plane: 1, workers: 1, version: OLD }),
    Step::Reach(Shape { control_plane: 1, workers: 1, version: NEW }),
    Step::Delete,
];

const THREE: Shape = Shape { control_plane: 3, workers: 1, version: NEW };

/// Create, delete two of three control plane Machines at once.
pub const TWO_AT_ONCE: &[Step] = &[Step::Reach(THREE), Step::Replace(2, THREE)];

/// What is still missing for `step`; empty when it is reached.
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
