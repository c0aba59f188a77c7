//! The network of the benchmarks: a bridge with the clients, and a namespace for each server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use machinery::clock::Clock;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

use crate::bench::Bench;

/// The folder with the boot files that `tests/netboot/install-tools` created.
pub const ASSETS: &str = "target/tools/netboot";

/// Address of the clients.
pub const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 80, 0, 3);
/// Address of firstlight.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 80, 0, 1);
/// Address of the peers.
pub const PEER: Ipv4Addr = Ipv4Addr::new(10, 80, 0, 2);
/// First and last address of the DHCP pool.
pub const POOL: (&str, &str) = ("10.80.4.0", "10.80.127.255");
/// Limit for the start of a server.
const START: Duration = Duration::from_secs(60);

/// Runs a command to completion.
pub async fn command(program: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new(program).args(arguments).kill_on_drop(true).output().await;
    let output = output.with_context(|| format!("{program} is needed"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {}: {}", arguments.join(" "), said.trim());
    Ok(())
}

/// Creates the bridge with the clients' address.
pub async fn bridge() -> Result<()> {
    command("ip", &["link", "set", "lo", "up"]).await?;
    command("ip", &["link", "add", "br0", "type", "bridge"]).await?;
    command("ip", &["address", "add", &format!("{CLIENT}/16"), "dev", "br0"]).await?;
    command("ip", &["link", "set", "br0", "up"]).await
}

/// A network namespace with a cable (`eth0`) to the bridge.
pub struct Place {
    /// A process that keeps the namespace alive.
    _keeper: Child,
    namespace: String,
}

impl Place {
    /// Creates a namespace.
    pub async fn new(cable: &str, address: Ipv4Addr) -> Result<Self> {
        let mut keeper = Command::new("unshare");
        keeper.args(["--net", "sh", "-c", "echo; read -r end"]).kill_on_drop(true);
        let mut keeper = keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        keeper.stdout.as_mut().context("no output")?.read_u8().await?;
        let process = keeper.id().context("it has ended")?.to_string();
        let namespace = format!("--net=/proc/{process}/ns/net");
        command("ip", &["link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", &process])
            .await?;
        command("ip", &["link", "set", cable, "master", "br0", "up"]).await?;
        let plug = format!("ip link set lo up; ip address add {address}/16 dev eth0; ip link set eth0 up");
        command("nsenter", &[&namespace, "sh", "-c", &plug]).await?;
        Ok(Self { _keeper: keeper, namespace })
    }

    /// Returns a command in the namespace, on the servers' processor; its output goes to `log`.
    pub fn program(&self, program: &Path, log: &Path) -> Result<Command> {
        let mut command = Command::new("nsenter");
        command.args([&self.namespace, "taskset", "--cpu-list", "0"]).arg(program);
        let log = std::fs::File::create(log)?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        Ok(command)
    }
}

/// Waits until `address` accepts connections, while `process` runs.
pub async fn listens(clock: &Clock, address: SocketAddr, process: &mut Child, log: &Path) -> Result<()> {
    let deadline = clock.monotonic() + START;
    while tokio::net::TcpStream::connect(address).await.is_err() {
        if process.try_wait()?.is_some() || clock.monotonic() > deadline {
            bail!("nothing listens at {address}:\n{}", std::fs::read_to_string(log).unwrap_or_default());
        }
        clock.sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Runs `work` on the clients' processor, which is the last one.
pub async fn pinned<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let pinned = move || {
        let mut processors = CpuSet::new();
        processors.set(std::thread::available_parallelism().map_or(0, |count| count.get() - 1))?;
        sched_setaffinity(Pid::from_raw(0), &processors)?;
        work()
    };
    // A separate thread, since the affinity must not stay on a shared one.
    let (sender, done) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || sender.send(pinned()).is_ok());
    done.await.context("the clients have ended")?
}

/// A firstlight server that boots machines.
pub struct Firstlight {
    _process: Child,
    data: PathBuf,
}

impl Firstlight {
    /// Starts the server, which serves `images` and a bundle.
    pub async fn start(
        bench: &Bench,
        place: &Place,
        folder: &Path,
        images: &Path,
        bundle: &Path,
    ) -> Result<Self> {
        let (data, log) = (folder.join("data"), folder.join("firstlight.log"));
        let text = |path: &Path| path.to_str().map(str::to_owned).context("a path is no text");
        let binary = std::fs::canonicalize(&bench.binary).context("the binary")?;
        command(&text(&binary)?, &["metal", "assets", "add", ASSETS, "--data-dir", &text(&data)?]).await?;
        let mut process = place.program(&binary, &log)?;
        process.args(["serve", "--netboot-interface", "eth0", "--netboot-pool"]);
        process.arg(format!("{}-{}", POOL.0, POOL.1));
        process.arg("--netboot-images").arg(images).arg("--bundle").arg(bundle).arg("--data-dir").arg(&data);
        let mut process = process.spawn()?;
        listens(&bench.clock, (SERVER, 8080).into(), &mut process, &log).await?;
        Ok(Self { _process: process, data })
    }

    /// Returns the unified kernel image for UEFI that the server has built.
    pub fn unified(&self) -> PathBuf {
        self.data.join("netboot/made").join(std::env::consts::ARCH).join("firstlight.efi")
    }
}
