//! The events of control planes, each recorded once for each new message.

use std::collections::{BTreeMap, BTreeSet};

use engine::events::Recorder;
use engine::object;
use parking_lot::Mutex;
use schemas::controlplane::KubeadmControlPlane;

use super::situation::Event;

/// The recorder of events about control planes, with the last message about each one (by UID).
pub(super) struct Events {
    recorder: Recorder,
    last: Mutex<BTreeMap<String, String>>,
}

impl Events {
    /// Nothing was recorded yet.
    pub fn new(recorder: Recorder) -> Self {
        Self { recorder, last: Mutex::default() }
    }

    /// Records why a control plane waits; `None` if it does not.
    pub fn record(&self, control_plane: &KubeadmControlPlane, event: Option<&Event>) {
        let uid = object::uid(control_plane).to_owned();
        let mut last = self.last.lock();
        match event {
            None => drop(last.remove(&uid)),
            Some(event) if last.get(&uid) == Some(&event.message) => {}
            Some(event) => {
                self.recorder.warning(control_plane, &(), event.reason, event.message.as_str());
                last.insert(uid, event.message.clone());
            }
        }
    }

    /// Forgets all control planes but those with these UIDs.
    pub fn retain(&self, uids: &BTreeSet<&str>) {
        self.last.lock().retain(|uid, _| uids.contains(uid.as_str()));
    }
}
