//! What hinders containers on a machine: everything at once, each with what to do.

mod any_runtime;

use std::fs;
use std::path::Path;

use anyhow::Result;
use rustix::thread::{CapabilitySet, capabilities};
use system_containers::{Finding, Weight};

use crate::groups::{Groups, Version};
use crate::network::{self, Range, settings};

use any_runtime::INOTIFY;
pub use any_runtime::{cgroups_v1_finding, inotify, inotify_finding, machine_has_resource_capability};

/// What the findings depend on.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Whether this process is root's.
    pub is_root: bool,
    /// The names of capabilities that containers need and this process does not have.
    pub missing_capabilities: Vec<&'static str>,
    /// Whether it has CAP_SYS_RESOURCE.
    pub has_resource_capability: bool,
    /// Text of `/proc/filesystems`.
    pub file_systems: String,
    /// The version of control groups, or why there are none.
    pub groups: Option<Result<Version, String>>,
    /// The controllers that a kubelet needs, and that groups of containers do not have.
    pub missing_controllers: Vec<&'static str>,
    /// Why there is no network for containers, for each part that is missing.
    pub network: Vec<String>,
    /// Whether Docker has its bridge on this machine.
    pub has_docker: bool,
    /// Why no range of addresses can be used.
    pub range: Option<String>,
    /// `fs.inotify.max_user_instances`, and `fs.inotify.max_user_watches`.
    pub inotify: Option<(u64, u64)>,
    /// Whether this process can raise both, as it does when a container starts.
    pub can_raise_inotify: bool,
    /// Free bytes on the disk of the data directory.
    pub free_disk: Option<u64>,
    /// Available bytes of memory.
    pub available_memory: Option<u64>,
    /// Whether there is memory on a disk, with which a kubelet refuses to start by default.
    pub has_swap: bool,
}

/// What a node needs of disk and memory, in bytes.
const DISK: u64 = 2 << 30;
const MEMORY: u64 = 1 << 30;

/// The capabilities that starting a container needs, all others are only passed on.
const NEEDED: [(CapabilitySet, &str); 6] = [
    (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN"),
    (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
    (CapabilitySet::MKNOD, "CAP_MKNOD"),
    (CapabilitySet::CHOWN, "CAP_CHOWN"),
    (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
    (CapabilitySet::KILL, "CAP_KILL"),
];

/// Returns what hinders containers of this data directory, which need not exist. Nothing is made.
///
/// # Errors
/// The machine cannot be examined.
pub async fn of_machine(data: &Path) -> Result<Vec<Finding>> {
    examine(data, None, "").await
}

pub(crate) async fn examine(data: &Path, range: Option<Range>, identity: &str) -> Result<Vec<Finding>> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let own = capabilities(None).map(|sets| sets.effective).unwrap_or(CapabilitySet::empty());
    let missing = NEEDED.iter().filter(|(capability, _)| !own.contains(*capability));
    let memory = read("/proc/meminfo");
    let kilobytes = |name: &str| -> Option<u64> {
        memory
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse().ok())
    };
    let disk = rustix::fs::statvfs(data).ok();
    let facts = Facts {
        is_root: rustix::process::geteuid().is_root(),
        missing_capabilities: missing.map(|(_, name)| *name).collect(),
        has_resource_capability: own.contains(CapabilitySet::SYS_RESOURCE),
        file_systems: read("/proc/filesystems"),
        groups: Some(
            Groups::find(identity).map(|groups| groups.version()).map_err(|error| format!("{error:#}")),
        ),
        missing_controllers: Groups::find(identity).map(|groups| groups.missing()).unwrap_or_default(),
        network: network::detect().await,
        has_docker: network::has_link("docker0").await,
        range: network::find_range(range, identity).await.err().map(|error| format!("{error:#}")),
        inotify: inotify(),
        can_raise_inotify: INOTIFY.iter().all(|name| settings::can_write(name)),
        free_disk: disk.map(|found| found.f_bavail.saturating_mul(found.f_frsize)),
        available_memory: kilobytes("MemAvailable:").map(|size| size << 10),
        has_swap: kilobytes("SwapTotal:").is_some_and(|size| size > 0),
    };
    Ok(findings(&facts))
}

/// Returns what the facts mean, the worst first.
pub fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add =
        |weight, what: String, remedy: &str| found.push(Finding { weight, what, remedy: remedy.to_owned() });
    rights(facts, &mut add);
    kernel(facts, &mut add);
    sizes(facts, &mut add);
    found.extend(matches!(facts.groups, Some(Ok(Version::One))).then(cgroups_v1_finding));
    found.extend(inotify_finding(facts.inotify.filter(|_| !facts.can_raise_inotify)));
    found.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    found
}

type Add<'a> = &'a mut dyn FnMut(Weight, String, &str);

fn rights(facts: &Facts, add: Add<'_>) {
    if !facts.is_root {
        add(Weight::Obstacle, "this process is not root's".to_owned(), "start it with sudo");
        return;
    }
    if !facts.missing_capabilities.is_empty() {
        add(
            Weight::Obstacle,
            format!("this process does not have {}", facts.missing_capabilities.join(", ")),
            "give it these capabilities: in a unit of systemd with CapabilityBoundingSet and AmbientCapabilities, in a container with --cap-add or --privileged",
        );
    }
    if !facts.has_resource_capability {
        add(
            Weight::Warning,
            "CAP_SYS_RESOURCE is missing, so that no OOM score can be lowered and no limit raised".to_owned(),
            "give it to this process, or use a node image whose containerd has `restrict_oom_score_adj = true`",
        );
    }
}

fn kernel(facts: &Facts, add: Add<'_>) {
    if !facts.file_systems.split_whitespace().any(|name| name == "overlay") {
        add(
            Weight::Obstacle,
            "the kernel has no overlayfs".to_owned(),
            "load it with `modprobe overlay`, or use a kernel with CONFIG_OVERLAY_FS",
        );
    }
    if let Some(Err(error)) = &facts.groups {
        add(Weight::Obstacle, "control groups cannot be used".to_owned(), error);
    }
    if !facts.missing_controllers.is_empty() {
        add(
            Weight::Warning,
            format!(
                "the control groups do not have the controllers {}",
                facts.missing_controllers.join(", ")
            ),
            "a kubelet does not start without them: use a kernel that has them, or enable them in cgroup.subtree_control of the groups above",
        );
    }
    for error in &facts.network {
        add(Weight::Obstacle, "containers can have no network".to_owned(), error);
    }
    if facts.has_docker {
        add(
            Weight::Warning,
            "Docker is on this machine, whose firewall drops what other networks send to the outside"
                .to_owned(),
            "allow it with `iptables -I DOCKER-USER -i fl+ -j ACCEPT` and `iptables -I DOCKER-USER -o fl+ -j ACCEPT`",
        );
    }
    if let Some(error) = &facts.range {
        add(Weight::Obstacle, "containers can have no addresses".to_owned(), error);
    }
}

fn sizes(facts: &Facts, add: Add<'_>) {
    let megabytes = |size: u64| size >> 20;
    if let Some(free) = facts.free_disk.filter(|free| *free < DISK) {
        add(
            Weight::Warning,
            format!("the disk of the data directory has {} MiB left", megabytes(free)),
            &format!(
                "free {} MiB, of which a node needs about 400, or use another data directory",
                megabytes(DISK - free)
            ),
        );
    }
    if let Some(available) = facts.available_memory.filter(|available| *available < MEMORY) {
        add(
            Weight::Warning,
            format!("{} MiB of memory are available", megabytes(available)),
            "end other programs: a control plane needs about 450 MiB, a worker 100",
        );
    }
    if facts.has_swap {
        add(
            Weight::Note,
            "the machine has swap".to_owned(),
            "a kubelet needs `failSwapOn: false` or --fail-swap-on=false, or switch it off with `swapoff -a`",
        );
    }
}
