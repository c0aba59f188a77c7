//! The conditions of a DevMachine, with the types, reasons and messages of Cluster API's provider. Pure.

use chrono::{DateTime, Utc};
use engine::conditions::{self, Reasons, Summary, summarize};
use engine::v1beta1;
use schemas::HasConditions;
use schemas::infrastructure::DevMachine;
use schemas::meta::V1Beta1Condition;

/// Whether the container runs.
pub const CONTAINER: &str = "ContainerProvisioned";
/// Whether the init of the container has started all units.
pub const GROUPS: &str = "CGroupsReady";
/// Whether the images of `preLoadImages` are in the node.
pub const IMAGES: &str = "PreLoadedImagesReady";
/// Whether the bootstrap has succeeded.
pub const BOOTSTRAP: &str = "BootstrapCompleted";

/// Conditions that this controller owns.
pub(super) const OWNED: &[&str] = &["Ready", CONTAINER, GROUPS, IMAGES, BOOTSTRAP, "Paused"];

/// The conditions that make `Ready`, in the order of its message.
const SOURCES: [&str; 4] = [GROUPS, CONTAINER, IMAGES, BOOTSTRAP];

/// Sets `Ready` from the other conditions, and repeats both that v1beta1 has.
pub(super) fn summarize_all(dev: &mut DevMachine, is_deleting: bool, now: DateTime<Utc>) {
    let summary = Summary {
        types: SOURCES.to_vec(),
        negative: Vec::new(),
        ignore_if_missing: Vec::new(),
        reasons: Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" },
    };
    let mut ready = summarize("Ready", dev.conditions(), &summary, |_| None);
    if is_deleting {
        ready = conditions::is_false("Ready", "Deleting", ready.message);
    }
    conditions::set(dev, now, ready);
    let older: Vec<V1Beta1Condition> = ["Ready", CONTAINER]
        .iter()
        .filter_map(|type_| Some(v1beta1::repeated(type_, dev.condition(type_)?)))
        .collect();
    let status = dev.status.get_or_insert_default();
    status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default().conditions = older;
}
