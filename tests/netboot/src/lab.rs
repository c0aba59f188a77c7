//! The network of the machines: a bridge with an IP address.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;

/// Name of the bridge, which is that of an interface in the documentation.
pub const BRIDGE: &str = "eth1";

/// Name of the bridge of another segment, on which this process does not listen.
pub const FAR_BRIDGE: &str = "br1";

/// Address of the bridge, at which the servers listen.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The ports at that address of the simulated Redfish services, one for each machine.
pub const BMC_PORTS: std::ops::Range<u16> = 8001..8009;

/// The network, and a folder for disks and consoles that is deleted with it.
pub struct Lab {
    folder: tempfile::TempDir,
    taps: AtomicU32,
}

/// Limit for a command; building a Debian image takes minutes.
const COMMAND: Duration = Duration::from_secs(900);

/// Runs a command to completion.
///
/// # Errors
/// Fails if the command cannot be started, takes too long, or fails; its output is in the error.
pub async fn run(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).kill_on_drop(true).output();
    let output = tokio::time::timeout(COMMAND, output).await;
    let output = output
        .with_context(|| format!("{program} {}: not within {COMMAND:?}", arguments.join(" ")))?
        .with_context(|| format!("{program} is needed"))?;
    if !output.status.success() {
        bail!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Lab {
    /// Creates the bridge in the network namespace of this process, with the address [`ADDRESS`].
    ///
    /// # Errors
    /// Fails without the necessary permissions, or if the namespace already has a bridge of that name.
    pub async fn new() -> Result<Self> {
        Self::at(&[ADDRESS]).await
    }

    /// Like [`Lab::new`], with other addresses. Each is in a network of 24 bits.
    ///
    /// # Errors
    /// The errors of [`Lab::new`].
    pub async fn at(addresses: &[Ipv4Addr]) -> Result<Self> {
        let hint = "a network namespace of its own is needed: run `cargo xtask netboot`";
        run("ip", &["link", "set", "lo", "up"]).await.context(hint)?;
        run("ip", &["link", "add", BRIDGE, "type", "bridge"]).await.context(hint)?;
        for address in addresses {
            run("ip", &["address", "add", &format!("{address}/24"), "dev", BRIDGE]).await?;
        }
        run("ip", &["link", "set", BRIDGE, "up"]).await?;
        run("ip", &["link", "add", FAR_BRIDGE, "type", "bridge"]).await?;
        run("ip", &["link", "set", FAR_BRIDGE, "up"]).await?;
        Ok(Self { folder: tempfile::tempdir()?, taps: AtomicU32::new(0) })
    }

    /// Returns the folder for disks and consoles.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Creates a network device on a bridge; returns its name.
    ///
    /// # Errors
    /// Fails if the kernel cannot create it.
    pub async fn tap(&self, bridge: &str) -> Result<String> {
        let tap = format!("tap{}", self.taps.fetch_add(1, Ordering::Relaxed));
        run("ip", &["tuntap", "add", &tap, "mode", "tap"]).await?;
        run("ip", &["link", "set", &tap, "master", bridge, "up"]).await?;
        Ok(tap)
    }
}
