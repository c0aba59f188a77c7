//! What hinders nodes on a machine, whatever runs them.

use rustix::thread::{CapabilitySet, capability_is_in_bounding_set};
use system_containers::{Finding, Weight};

use crate::network::settings;

/// The instances and watches of inotify that systemd, containerd and a kubelet need.
const INSTANCES: u64 = 512;
const WATCHES: u64 = 65_536;

/// The settings that limit them for each user.
pub(super) const INOTIFY: [&str; 2] = ["fs.inotify.max_user_instances", "fs.inotify.max_user_watches"];

/// Returns `fs.inotify.max_user_instances` and `fs.inotify.max_user_watches`; `None` if the kernel does not say.
pub fn inotify() -> Option<(u64, u64)> {
    let [instances, watches] = INOTIFY.map(|name| settings::read(name).ok());
    Option::zip(instances?.try_into().ok(), watches?.try_into().ok())
}

/// Returns what is to be said of these limits.
pub fn inotify_finding(limits: Option<(u64, u64)>) -> Option<Finding> {
    let (instances, watches) = limits?;
    (instances < INSTANCES || watches < WATCHES).then(|| Finding {
        weight: Weight::Warning,
        what: format!(
            "inotify allows a user {instances} instances and {watches} watches, which end with the first few nodes"
        ),
        remedy: format!(
            "raise them with `sysctl fs.inotify.max_user_instances={INSTANCES} fs.inotify.max_user_watches=524288`"
        ),
    })
}

/// Returns what is to be said of version 1 of the control groups.
pub fn cgroups_v1_finding() -> Finding {
    Finding {
        weight: Weight::Note,
        what: "the control groups have version 1".to_owned(),
        remedy: "a kubelet from 1.35 on needs `failCgroupV1: false` or --fail-cgroupv1=false; version 2 comes with the kernel's parameter systemd.unified_cgroup_hierarchy=1".to_owned(),
    }
}

/// Returns whether this machine gives CAP_SYS_RESOURCE to anybody, as far as this process can see.
pub fn machine_has_resource_capability() -> bool {
    capability_is_in_bounding_set(CapabilitySet::SYS_RESOURCE).unwrap_or(true)
}
