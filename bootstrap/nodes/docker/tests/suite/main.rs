//! `node-docker-suite [podman]`: containers and balancers of a real dockerd, or of Podman's service, in namespaces of their own for network,
//! mounts and processes, so that nothing reaches the machine's network and nothing outlives the suite. By name, because it needs Debian's
//! docker.io (or podman), iptables, iproute2, busybox-static and python3:
//!
//!     cargo run -p firstlight-node-docker --bin node-docker-suite
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a suite ends where something is not as it must be"
)]

mod engine;
mod image;
mod scenario;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::engine::Kind;

/// Tells the process that it already runs in the namespaces.
const HERE: &str = "--here";
/// The first process of the namespaces. Podman leaves files in folders of the machine. It also reaps processes without a parent.
const FIRST: &str = "ip link set lo up && for folder in netns containers; do mkdir -p /run/$folder && mount -t tmpfs tmpfs /run/$folder || exit 1; done; sysctl -qw net.ipv4.ip_forward=1 && \"$0\" \"$@\" & wait $!";

fn main() -> Result<()> {
    node_docker::balancer::run_if_started_as_one();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = match arguments.last().map(String::as_str) {
        Some("podman") => Kind::Podman,
        _ => Kind::Docker,
    };
    if arguments.first().is_some_and(|first| first == HERE) {
        // Images do not fit into a temporary folder in memory, nor on another overlay.
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/tools/docker");
        std::fs::create_dir_all(&folder)?;
        let folder = folder.canonicalize()?;
        return tokio::runtime::Runtime::new()?.block_on(scenario::run(kind, &folder));
    }
    let status = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-c", FIRST])
        .arg(std::env::current_exe()?)
        .arg(HERE)
        .args(&arguments)
        .status()
        .context("unshare (of util-linux) is needed")?;
    ensure!(status.success(), "the suite failed");
    Ok(())
}
