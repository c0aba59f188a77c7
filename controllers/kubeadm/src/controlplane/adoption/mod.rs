//! Adoption: the control plane takes control of control plane Machines that have no controller, or refuses to work beside Machines of
//! another one. Pure functions.

mod apply;

use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::Machine;
use schemas::version::Version;

pub(super) use apply::adopt;

use crate::controlplane::observed::Observed;
use crate::controlplane::situation::{Decision, Event};
use crate::controlplane::step::Step;

/// Returns what is decided about the cluster's Machines of other owners; `None` if there are none, or if it is too early.
pub(crate) fn plan(observed: &Observed) -> Option<Decision> {
    let is_early = !engine::initialization::has_infrastructure(&observed.cluster) || !observed.has_endpoint();
    if is_early || !observed.is_mixed() {
        return None;
    }
    if observed.orphans.is_empty() {
        return Some(refused(format!(
            "not all control plane Machines are owned by this KubeadmControlPlane, refusing to operate in mixed management mode: {}",
            observed.foreign.join(", ")
        )));
    }
    if let Some(problem) = observed.orphans.iter().find_map(|machine| wrong_config(machine)) {
        return Some(refused(problem));
    }
    if let Some(problem) = observed.orphans.iter().find_map(|machine| wrong_version(observed, machine)) {
        let event = Some(Event { reason: "AdoptionFailed", message: problem.clone() });
        return Some(Decision { event, ..refused(problem) });
    }
    let names = observed.orphans.iter().filter_map(|machine| machine.metadata.name.clone()).collect();
    Some(Decision::steps(vec![Step::AdoptMachines(names)]))
}

fn refused(error: String) -> Decision {
    Decision { errors: vec![error], ..Decision::default() }
}

fn name(machine: &Machine) -> String {
    engine::NamespacedName::of(machine).to_string()
}

fn wrong_config(machine: &Machine) -> Option<String> {
    let kind = machine.spec.bootstrap.config_ref.as_ref().map(|reference| reference.kind.as_str());
    (kind != Some(KubeadmConfig::KIND)).then(|| {
        format!(
            "unable to adopt Machine {}: expected a ConfigRef of kind KubeadmConfig but instead found {}",
            name(machine),
            kind.unwrap_or("none")
        )
    })
}

/// A Machine without a version is somebody's decision.
fn wrong_version(observed: &Observed, machine: &Machine) -> Option<String> {
    let wanted = observed.control_plane.spec.version.as_str();
    let version = machine.spec.version.as_deref().filter(|version| !version.is_empty())?;
    let is_near = Version::parse(wanted).zip(Version::parse(version)).is_some_and(|(wanted, version)| {
        wanted.major == version.major && wanted.minor.abs_diff(version.minor) <= 1
    });
    (!is_near).then(|| {
        format!(
            "Could not adopt Machine {}: its version ({version:?}) is outside supported +/- one minor version skew from KCP's ({wanted:?})",
            name(machine)
        )
    })
}
