//! Somebody else's DHCP server on the lab's network, on a machine of its own (a network namespace).

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::lab::{BRIDGE, Lab, run};
use crate::wait::until;

/// Its address.
pub const DNSMASQ: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// How long its start may take.
const START: Duration = Duration::from_secs(30);

/// Waits until its interface has come, then becomes dnsmasq.
const BEGIN: &str = "echo ready; read -r come
    ip link set lo up; ip link set dns1 up; ip address add \"$0\"/24 dev dns1; ip address add fd77::2/64 dev dns1 nodad
    exec dnsmasq --keep-in-foreground --conf-file=/dev/null --log-facility=- --user=root --pid-file= --port=0 --interface=dns1 --no-ping --log-dhcp \
    --dhcp-range=10.77.0.50,10.77.0.99,5m \"$@\"";

/// A running dnsmasq; gone when dropped.
pub struct Dnsmasq {
    _process: Child,
    log: PathBuf,
}

impl Dnsmasq {
    /// Starts one that gives addresses; `options` are dnsmasq's own.
    ///
    /// # Errors
    /// When it is not installed, or does not come up.
    pub async fn start(lab: &Lab, options: &[&str]) -> Result<Self> {
        let log = lab.file("dnsmasq.log");
        let leases = format!("--dhcp-leasefile={}", lab.file("dnsmasq.leases").display());
        let mut process = Command::new("unshare")
            .args(["--net", "sh", "-c", BEGIN, &DNSMASQ.to_string(), &leases])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log)?)
            .kill_on_drop(true)
            .spawn()?;
        // Its namespace is there as soon as it speaks.
        let mut ready = String::new();
        BufReader::new(process.stdout.take().context("a pipe")?).read_line(&mut ready).await?;
        let id = process.id().context("a process that runs")?.to_string();
        run("ip", &["link", "add", "dns0", "type", "veth", "peer", "name", "dns1"]).await?;
        run("ip", &["link", "set", "dns0", "master", BRIDGE, "up"]).await?;
        run("ip", &["link", "set", "dns1", "netns", &id]).await?;
        process.stdin.take().context("a pipe")?.write_all(b"come\n").await?;
        let server = Self { _process: process, log };
        let is_up = || async { server.log().contains("DHCP, IP range").then_some(()) };
        let waited = until("dnsmasq", START, is_up).await;
        waited.map_err(|error| anyhow!("{error}; is Debian's dnsmasq-base installed?\n{}", server.log()))?;
        Ok(server)
    }

    /// What it says.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}
