//! What the findings about a daemon depend on.

use anyhow::Result;
use node_runtime::preflight::{inotify, machine_has_resource_capability};
use system_containers::Finding;

use crate::client::Client;
use crate::preflight::{Facts, findings};

pub(super) async fn examine(client: &Client) -> Result<Vec<Finding>> {
    let info = client.info().await?;
    Ok(findings(&Facts {
        engine: client.engine(),
        is_rootless: info.rootless || info.has_option("rootless"),
        is_virtual: info.operating_system.contains("Docker Desktop"),
        version: info.server_version,
        cgroup_version: info.cgroup_version,
        driver: info.driver,
        runtime: info.default_runtime,
        has_resource_capability: machine_has_resource_capability(),
        inotify: inotify(),
    }))
}
