//! Preflight checks: whether a MachineSet may create Machines, given the state of the control plane.

use engine::ExternalObject;
use engine::object::annotation;
use schemas::version::Version;
use serde_json::Value;

use super::observed::Observed;
use crate::change::Reference;

/// The name of the check that the control plane neither changes its version nor waits for its first Machine.
pub(super) const CONTROL_PLANE_IS_STABLE: &str = "ControlPlaneIsStable";

/// Annotation on Clusters with a topology: the version of the upgrade step that is carried out.
pub(super) const UPGRADE_STEP: &str = "topology.internal.cluster.x-k8s.io/upgrade-step";

/// Annotation on MachineSets and bootstrap templates: the checks that are skipped, separated by commas.
pub(super) const SKIP: &str = "machineset.cluster.x-k8s.io/skip-preflight-checks";
/// Workers may be at most this many minor versions behind the control plane.
const MAX_SKEW: u64 = 3;

/// Returns the reasons why no Machine may be created now; empty if one may.
pub fn failures(observed: &Observed) -> Vec<String> {
    if !observed.features.machine_set_preflight_checks {
        return Vec::new();
    }
    let Reference::Found(control_plane) = &observed.control_plane else { return Vec::new() };
    let Some(version) = control_plane.text("/spec/version") else { return Vec::new() };
    let of_template =
        observed.bootstrap.found().and_then(|template| annotation(template.object.as_ref(), SKIP));
    let skip = annotation(observed.set.as_ref(), SKIP).or(of_template).unwrap_or_default();
    let skips =
        |check: &str| skip.split(',').map(str::trim).any(|skipped| skipped == check || skipped == "All");
    let mut failures = Vec::new();
    let mut check = |name: &str, failure: Option<String>| {
        if let Some(failure) = failure.filter(|_| !skips(name)) {
            failures.push(format!("* {failure} (\"{name}\" preflight check failed)"));
        }
    };
    check(CONTROL_PLANE_IS_STABLE, unstable(observed, control_plane, version));
    let own = observed.set.spec.template.spec.version.as_deref();
    if let Some(own) = own {
        check("KubernetesVersionSkew", kubernetes_skew(own, version));
        let kubeadm = observed
            .bootstrap
            .found()
            .is_some_and(|template| template.resource.kind == "KubeadmConfigTemplate");
        check("KubeadmVersionSkew", kubeadm_skew(own, version).filter(|_| kubeadm));
        if observed.cluster.spec.topology.is_some() && own != version {
            let text = format!(
                "MachineSet version ({own}) is not yet the same as the ControlPlane version ({version}), waiting for version to be propagated to the MachineSet"
            );
            check("ControlPlaneVersionSkew", Some(text));
        }
    }
    failures
}

/// Returns the versions that the control plane runs.
fn running(control_plane: &ExternalObject) -> Vec<Version> {
    let listed = control_plane.get("/status/versions").and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(|entry| entry["version"].as_str());
    let mut versions: Vec<Version> = listed.filter_map(Version::parse).collect();
    if versions.is_empty() {
        versions.extend(control_plane.text("/status/version").and_then(Version::parse));
    }
    versions
}

fn unstable(observed: &Observed, control_plane: &ExternalObject, version: &str) -> Option<String> {
    let meta = &control_plane.object.metadata;
    let name = format!(
        "{} {}/{}",
        control_plane.resource.kind,
        meta.namespace.as_deref().unwrap_or_default(),
        meta.name.as_deref().unwrap_or_default()
    );
    if let Some(topology) = &observed.cluster.spec.topology {
        let step = annotation(observed.cluster.as_ref(), UPGRADE_STEP);
        if topology.version != version && step != Some(version) {
            let pending = step.filter(|step| !step.is_empty()).unwrap_or(&topology.version);
            return Some(format!("{name} has a pending version upgrade to {pending}"));
        }
    }
    let running = running(control_plane);
    if running.is_empty() {
        return Some(format!("{name} is provisioning"));
    }
    let wanted = Version::parse(version)?;
    running.iter().any(|version| *version < wanted).then(|| format!("{name} is upgrading"))
}

fn kubernetes_skew(own: &str, control_plane: &str) -> Option<String> {
    let (set, plane) = (Version::parse(own)?, Version::parse(control_plane)?);
    let conform = format!(
        "MachineSet version ({own}) and ControlPlane version ({control_plane}) do not conform to the kubernetes version skew policy as MachineSet version is"
    );
    if set.minor > plane.minor {
        return Some(format!("{conform} higher than ControlPlane version"));
    }
    (set.minor + MAX_SKEW < plane.minor)
        .then(|| format!("{conform} more than {MAX_SKEW} minor versions older than the ControlPlane version"))
}

fn kubeadm_skew(own: &str, control_plane: &str) -> Option<String> {
    let (set, plane) = (Version::parse(own)?, Version::parse(control_plane)?);
    ((set.major, set.minor) != (plane.major, plane.minor)).then(|| {
        format!(
            "MachineSet version ({own}) and ControlPlane version ({control_plane}) do not conform to kubeadm version skew policy as kubeadm only supports joining with the same major+minor version as the control plane"
        )
    })
}
