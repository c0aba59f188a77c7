//! The time that containers have for their ends, with the rules of Kubernetes' kubelet.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod, Probe};

use crate::probe::Purpose;

/// The time that a Pod has for its end if it names none.
const GRACE: i64 = 30;
/// The time that a container has at least between its hook and its end, as in Kubernetes.
pub(super) const LEAST: Duration = Duration::from_secs(2);

/// Returns the time that a Pod gives its containers for their ends.
pub(super) fn grace(pod: &Pod) -> Duration {
    let own = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    seconds(pod.metadata.deletion_grace_period_seconds.or(own).unwrap_or(GRACE))
}

/// Returns the time that a container has which this probe ends.
pub fn grace_of_probe(pod: &Pod, container: &Container, purpose: Purpose) -> Duration {
    let probe: Option<&Probe> = match purpose {
        Purpose::Startup => container.startup_probe.as_ref(),
        Purpose::Liveness => container.liveness_probe.as_ref(),
        Purpose::Readiness => None,
    };
    let own = probe.and_then(|probe| probe.termination_grace_period_seconds);
    own.map_or_else(|| grace(pod), seconds)
}

fn seconds(number: i64) -> Duration {
    Duration::from_secs(u64::try_from(number).unwrap_or_default())
}
