//! The fields of an existing KubeadmControlPlane that may change.

use serde_json::{Map, Value};

use super::common::{Errors, annotation, at, major_minor};
use crate::coredns;
use crate::names::SKIP_COREDNS;

/// The mutable fields, each including all fields below it.
const MUTABLE: &[&str] = &[
    "spec.replicas",
    "spec.version",
    "spec.rollout",
    "spec.remediation",
    "spec.machineNaming",
    "spec.machineTemplate.metadata",
    "spec.machineTemplate.spec",
    "spec.kubeadmConfigSpec.bootCommands",
    "spec.kubeadmConfigSpec.preKubeadmCommands",
    "spec.kubeadmConfigSpec.postKubeadmCommands",
    "spec.kubeadmConfigSpec.files",
    "spec.kubeadmConfigSpec.verbosity",
    "spec.kubeadmConfigSpec.users",
    "spec.kubeadmConfigSpec.ntp",
    "spec.kubeadmConfigSpec.ignition",
    "spec.kubeadmConfigSpec.diskSetup",
    "spec.kubeadmConfigSpec.format",
    "spec.kubeadmConfigSpec.mounts",
    "spec.kubeadmConfigSpec.clusterConfiguration.etcd",
    "spec.kubeadmConfigSpec.clusterConfiguration.dns",
    "spec.kubeadmConfigSpec.clusterConfiguration.imageRepository",
    "spec.kubeadmConfigSpec.clusterConfiguration.featureGates",
    "spec.kubeadmConfigSpec.clusterConfiguration.apiServer",
    "spec.kubeadmConfigSpec.clusterConfiguration.controllerManager",
    "spec.kubeadmConfigSpec.clusterConfiguration.scheduler",
    "spec.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays",
    "spec.kubeadmConfigSpec.clusterConfiguration.encryptionAlgorithm",
    "spec.kubeadmConfigSpec.initConfiguration.nodeRegistration",
    "spec.kubeadmConfigSpec.initConfiguration.patches",
    "spec.kubeadmConfigSpec.initConfiguration.skipPhases",
    "spec.kubeadmConfigSpec.initConfiguration.bootstrapTokens",
    "spec.kubeadmConfigSpec.initConfiguration.localAPIEndpoint",
    "spec.kubeadmConfigSpec.initConfiguration.timeouts",
    "spec.kubeadmConfigSpec.joinConfiguration.nodeRegistration",
    "spec.kubeadmConfigSpec.joinConfiguration.patches",
    "spec.kubeadmConfigSpec.joinConfiguration.skipPhases",
    "spec.kubeadmConfigSpec.joinConfiguration.caCertPath",
    "spec.kubeadmConfigSpec.joinConfiguration.controlPlane",
    "spec.kubeadmConfigSpec.joinConfiguration.discovery",
    "spec.kubeadmConfigSpec.joinConfiguration.timeouts",
];

/// How many minor versions one update may go up.
const MINORS_MAX: u64 = 1;

pub fn validate(old: &Value, new: &Value, errors: &mut Errors) {
    let mut changed = Vec::new();
    changes("spec", &old["spec"], &new["spec"], &mut changed);
    for path in changed {
        let mutable = MUTABLE.iter().any(|mutable| {
            path.strip_prefix(mutable).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        if !mutable {
            errors.forbidden(path, "can't be changed");
        }
    }
    version(old, new, errors);
    etcd(old, new, errors);
    core_dns(old, new, errors);
}

/// Collects the paths of all differences. Lists are compared as a whole. An object that is added or removed
/// counts by its fields, so that adding an empty object is no change.
fn changes(path: &str, old: &Value, new: &Value, found: &mut Vec<String>) {
    let empty = Map::new();
    let fields = |value: &Value| value.is_object() || value.is_null();
    if (old.is_object() || new.is_object()) && fields(old) && fields(new) {
        let (old, new) = (old.as_object().unwrap_or(&empty), new.as_object().unwrap_or(&empty));
        for (name, value) in old {
            let after = new.get(name).unwrap_or(&Value::Null);
            changes(&format!("{path}.{name}"), value, after, found);
        }
        for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
            changes(&format!("{path}.{name}"), &Value::Null, value, found);
        }
    } else if old != new {
        found.push(path.to_owned());
    }
}

fn version(old: &Value, new: &Value, errors: &mut Errors) {
    let text = |object| at(object, &["spec", "version"]).as_str().unwrap_or_default();
    let (Some(before), Some(after)) = (major_minor(text(old)), major_minor(text(new))) else { return };
    if after > (before.0, before.1 + MINORS_MAX) {
        errors.forbidden(
            "spec.version",
            format!("can't go from {} to {}: one minor version at a time", text(old), text(new)),
        );
    }
}

fn etcd(old: &Value, new: &Value, errors: &mut Errors) {
    const ETCD: [&str; 4] = ["spec", "kubeadmConfigSpec", "clusterConfiguration", "etcd"];
    let (old, new) = (at(old, &ETCD), at(new, &ETCD));
    for (from, to) in [("local", "external"), ("external", "local")] {
        if old[from].is_object() && new[to].is_object() && !old[to].is_object() {
            errors.forbidden(
                format_args!("{}.{to}", ETCD.join(".")),
                format!("can't change from {from} to {to}"),
            );
        }
    }
}

/// Refuses a version of CoreDNS for which its configuration cannot be rewritten, unless its updates are left to the user.
fn core_dns(old: &Value, new: &Value, errors: &mut Errors) {
    const TAG: [&str; 5] = ["spec", "kubeadmConfigSpec", "clusterConfiguration", "dns", "imageTag"];
    let version = |object| at(object, &TAG).as_str().and_then(coredns::version);
    let (Some(from), Some(to)) = (version(old), version(new)) else { return };
    if annotation(new, SKIP_COREDNS).is_some() {
        return;
    }
    if let Err(why) = coredns::check_update(&from, &to) {
        errors.forbidden(
            TAG.join("."),
            format!("{why}; the annotation {SKIP_COREDNS} leaves the update to you"),
        );
    }
}
