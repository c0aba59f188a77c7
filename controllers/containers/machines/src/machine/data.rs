//! The bootstrap data of a machine, from its Secret.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::NamespacedName;
use engine::object::uid;
use k8s_openapi::api::core::v1::Secret;
use node_bootstrap::{Bootstrap, Format, Metadata, NodeOptions};
use schemas::infrastructure::DevMachine;

use crate::limits;

/// The first minor version of Kubernetes whose kubelet knows the flag `fail-cgroupv1`.
const KNOWS_FLAG: u64 = 31;

/// Reads the Secret with bootstrap data for a node of this host name.
///
/// # Errors
/// Says what the Secret lacks, or which part of the data cannot be used. No error contains data.
pub(super) fn read(secret: Option<&Secret>, name: &NamespacedName, host: &str) -> Result<Bootstrap> {
    let secret = secret.with_context(|| format!("Secret {name} with the bootstrap data does not exist"))?;
    let data = secret.data.as_ref();
    let value = data.and_then(|data| data.get("value"));
    let value = value.with_context(|| format!("Secret {name} has no key value"))?;
    ensure!(!value.0.trim_ascii().is_empty(), "the bootstrap data in Secret {name} are empty");
    let format =
        data.and_then(|data| data.get("format")).map(|format| format.0.as_slice()).unwrap_or_default();
    let format: Format = std::str::from_utf8(format)
        .with_context(|| format!("the key format of Secret {name} is not UTF-8"))?
        .parse()
        .with_context(|| format!("the key format of Secret {name}"))?;
    let metadata = Metadata::new(host, uid(secret));
    node_bootstrap::parse(&value.0, format, &metadata)
        .with_context(|| format!("the bootstrap data in Secret {name} cannot be used"))
}

/// Returns what a node of this Kubernetes version needs on this machine.
pub(super) fn options(has_cgroups_v1: bool, version: Option<&str>) -> NodeOptions {
    let minor =
        version.and_then(|version| version.trim_start_matches('v').split('.').nth(1)?.parse::<u64>().ok());
    // A version that cannot be read is taken for a new one.
    let knows_flag = minor.is_none_or(|minor| minor >= KNOWS_FLAG);
    NodeOptions { own_cgroup: true, cgroup_v1: has_cgroups_v1 && knows_flag }
}

/// Returns how long all commands of a bootstrap may take together.
pub(super) fn time_limit(dev: &DevMachine) -> Duration {
    let docker = dev.spec.backend.docker.as_ref();
    let asked = docker.and_then(|docker| docker.bootstrap_timeout.as_deref());
    asked.and_then(machinery::duration::parse).unwrap_or(limits::BOOTSTRAP)
}
