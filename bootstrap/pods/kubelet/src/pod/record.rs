//! The Events of a Pod, with the reasons of Kubernetes' kubelet.

use super::worker::Worker;
use crate::probe::Purpose;

impl Worker {
    pub(super) fn normal(&self, reason: &str, message: impl Into<String>) {
        self.shared.recorder.normal(&self.pod, &(), reason, message);
    }

    pub(super) fn warning(&self, reason: &str, message: impl Into<String>) {
        self.shared.recorder.warning(&self.pod, &(), reason, message);
    }

    /// Records why a container waits.
    pub(super) fn record_waiting(&self, reason: &str, message: &str) {
        match reason {
            "CrashLoopBackOff" | "ImagePullBackOff" => self.warning("BackOff", message),
            _ => self.warning("Failed", format!("Error: {reason}: {message}")),
        }
    }

    /// Records that a probe has failed as often as it may.
    pub(super) fn record_unhealthy(&self, purpose: Purpose, message: &str) {
        let probe = match purpose {
            Purpose::Startup => "Startup",
            Purpose::Readiness => "Readiness",
            Purpose::Liveness => "Liveness",
        };
        self.warning("Unhealthy", format!("{probe} probe failed: {message}"));
    }
}
