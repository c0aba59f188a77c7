//! What the findings about a daemon depend on.

use std::fs;

use anyhow::Result;
use system_containers::Finding;

use super::Docker;
use crate::preflight::{Facts, findings};

/// The number of CAP_SYS_RESOURCE (capabilities(7)).
const RESOURCE: u64 = 24;

pub(super) async fn examine(docker: &Docker) -> Result<Vec<Finding>> {
    let info = docker.info().await?;
    let number = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?;
        text.trim().parse().ok()
    };
    Ok(findings(&Facts {
        engine: docker.engine(),
        is_rootless: info.rootless || info.has_option("rootless"),
        is_virtual: info.operating_system.contains("Docker Desktop"),
        version: info.server_version,
        cgroup_version: info.cgroup_version,
        driver: info.driver,
        runtime: info.default_runtime,
        has_resource_capability: has_resource_capability(
            &fs::read_to_string("/proc/self/status").unwrap_or_default(),
        ),
        inotify: number("max_user_instances").zip(number("max_user_watches")),
    }))
}

/// Returns whether a process whose `/proc/PID/status` this is could get CAP_SYS_RESOURCE.
fn has_resource_capability(status: &str) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("CapBnd:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_none_or(|set| set >> RESOURCE & 1 == 1)
}
