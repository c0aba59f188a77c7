//! The Events of a Pod, with the reasons of Kubernetes' kubelet.

use engine::events::Recorder;
use k8s_openapi::api::core::v1::Pod;

use crate::probe::Purpose;

/// Records why a container waits.
pub(super) fn waiting(recorder: &Recorder, pod: &Pod, reason: &str, message: &str) {
    match reason {
        "CrashLoopBackOff" | "ImagePullBackOff" => recorder.warning(pod, &(), "BackOff", message),
        _ => recorder.warning(pod, &(), "Failed", format!("Error: {reason}: {message}")),
    }
}

/// Records that a probe has failed as often as it may.
pub(super) fn unhealthy(recorder: &Recorder, pod: &Pod, purpose: Purpose, message: &str) {
    let probe = match purpose {
        Purpose::Startup => "Startup",
        Purpose::Readiness => "Readiness",
        Purpose::Liveness => "Liveness",
    };
    recorder.warning(pod, &(), "Unhealthy", format!("{probe} probe failed: {message}"));
}
