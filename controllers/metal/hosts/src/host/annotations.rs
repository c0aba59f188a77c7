//! Parses a host's annotations (`contract/metal3`, §1.5).

use std::collections::BTreeMap;

use schemas::reboot::{REBOOT, is_reboot};
use serde::Deserialize;

use crate::names::DETACHED;

/// The annotations of a host.
pub type Annotations = BTreeMap<String, String>;

/// The combination of all annotations `reboot.metal3.io` and `reboot.metal3.io/<suffix>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reboot {
    /// Whether the power is cut; otherwise the operating system is asked to shut down.
    pub is_hard: bool,
    /// Whether the reboot happens even while an agent works.
    pub is_forced: bool,
    /// Whether a client keeps the machine off until it removes its key.
    pub is_held: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RebootValue {
    mode: String,
    force: bool,
}

/// Returns the requested reboot, or `None` if there is no reboot annotation. An invalid value requests a soft reboot.
pub fn reboot(annotations: &Annotations) -> Option<Reboot> {
    let mut found: Option<Reboot> = None;
    for (key, value) in annotations {
        if !is_reboot(key) {
            continue;
        }
        let value: RebootValue = serde_json::from_str(value).unwrap_or_default();
        let reboot = found.get_or_insert_default();
        reboot.is_hard |= value.mode == "hard";
        reboot.is_forced |= value.force;
        reboot.is_held |= key != REBOOT;
    }
    found
}

/// The effect of deleting a detached host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeleteAction {
    /// The host is deleted at once, and the machine stays unchanged.
    #[default]
    Delete,
    /// The deletion waits until the host is attached again.
    Delay,
}

/// The value of the annotation `baremetalhost.metal3.io/detached`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Detached {
    /// The effect of a deletion.
    pub delete_action: DeleteAction,
    /// Whether the host is detached in any state, and not only in a state of rest.
    pub force: bool,
}

/// Returns the value of the annotation, or `None` if it is missing. An invalid value counts as an empty one.
pub fn detached(annotations: &Annotations) -> Option<Detached> {
    annotations.get(DETACHED).map(|value| serde_json::from_str(value).unwrap_or_default())
}
