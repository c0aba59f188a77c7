//! Figures for docs/BENCHMARKS.md, each compared with a peer in the same run.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use machinery::clock::Clock;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::dnsmasq::Dnsmasq;
use crate::lab::{ADDRESS, Lab};
use crate::machine::{Boot, Firmware, Machine};
use crate::scenario::{IPXE, Scenario};
use crate::wait::{DEADLINE, until};

/// How often each is measured.
const ROUNDS: usize = 3;

/// Time from power-on to the agent's first report, with firstlight alone and with dnsmasq and a plain HTTP
/// server (same agent, reporting to the same server); memory of the server while three machines boot.
pub async fn all() -> Result<()> {
    let (mut scenario, _) = Scenario::start_with(&[IPXE], &[]).await?;
    let machines =
        [scenario.machine(0, Firmware::UefiHttp).await?, scenario.machine(1, Firmware::Bios).await?];
    measure("firstlight", &scenario, &machines).await?;
    let third = scenario.machine(2, Firmware::UefiHttp).await?;
    memory(&scenario, [&machines[0], &machines[1], &third]).await?;

    scenario.server.kill().await;
    let server = Scenario::serve(&scenario.lab, &[], &["--netboot-dhcp", "reservations"]).await?;
    scenario.server = server;
    let (_dnsmasq, _http) = peer(&scenario.lab).await?;
    measure("dnsmasq", &scenario, &machines).await
}

async fn measure(who: &str, scenario: &Scenario, machines: &[Machine]) -> Result<()> {
    for machine in machines {
        let mut seconds = Vec::new();
        for _ in 0..ROUNDS {
            let start = Clock::system().monotonic();
            boot(scenario, machine).await?;
            seconds.push(start.elapsed().as_secs_f64());
            machine.power_off().await;
        }
        seconds.sort_by(f64::total_cmp);
        let firmware = machine.design().firmware;
        writeln!(
            std::io::stdout(),
            "figure: {who}, {firmware:?}: power-on to the agent's first report: {seconds:.1?} s"
        )?;
    }
    Ok(())
}

/// Boots the machine and waits for the first report of its agent.
async fn boot(scenario: &Scenario, machine: &Machine) -> Result<()> {
    let name = machine.design().mac.replace(':', "-");
    let agent =
        json!({"apiVersion": "netboot.firstlight.dev/v1alpha1", "kind": "Agent", "metadata": {"name": name}});
    let before = scenario.server.get(&agent).await?["status"]["bootID"].clone();
    machine.power_on(&Boot::Network).await?;
    let is_new = |agent: &Value| !agent["status"]["bootID"].is_null() && agent["status"]["bootID"] != before;
    scenario.wait("the agent's first report", DEADLINE, (&agent, machine), is_new).await?;
    Ok(())
}

async fn memory(scenario: &Scenario, machines: [&Machine; 3]) -> Result<()> {
    for machine in machines {
        machine.power_on(&Boot::Network).await?;
    }
    for machine in machines {
        let name = machine.design().mac.replace(':', "-");
        let agent = json!({"apiVersion": "netboot.firstlight.dev/v1alpha1", "kind": "Agent", "metadata": {"name": name}});
        let is_inspected = |agent: &Value| agent["status"]["hardware"]["storage"][0].is_object();
        scenario.wait("the agent's inventory", DEADLINE, (&agent, machine), is_inspected).await?;
        machine.power_off().await;
    }
    let pid = scenario.server.pid().context("a server that runs")?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    for line in status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("VmRSS")) {
        writeln!(std::io::stdout(), "figure: firstlight, three machines at once: {line}")?;
    }
    Ok(())
}

/// Starts dnsmasq, and an HTTP server with the files that firstlight built.
async fn peer(lab: &Lab) -> Result<(Dnsmasq, Child)> {
    let folder = lab.file("peer");
    std::fs::create_dir(&folder)?;
    let made = lab.file("data/netboot/made/x86_64");
    std::fs::copy(made.join("firstlight.efi"), folder.join("firstlight.efi"))?;
    std::fs::copy(made.join("initramfs"), folder.join("initramfs"))?;
    let kernels = std::fs::read_dir(lab.file("data/netboot/assets/x86_64/kernels"))?;
    let kernel = kernels.last().context("a kernel")??.path();
    std::fs::copy(kernel.join("vmlinuz"), folder.join("vmlinuz"))?;
    let url = format!("http://{ADDRESS}:8081");
    let script = format!(
        "#!ipxe\nkernel {url}/vmlinuz initrd=initramfs console=tty0 console=ttyS0 panic=30 quiet\ninitrd {url}/initramfs\nboot\n"
    );
    std::fs::write(folder.join("boot.ipxe"), script)?;
    let http = plain_http(&folder, 8081).await?;
    let options = [
        "--dhcp-match=set:http,option:client-arch,16".to_owned(),
        "--dhcp-option-force=tag:http,60,HTTPClient".to_owned(),
        format!("--dhcp-boot=tag:http,{url}/firstlight.efi"),
        "--dhcp-userclass=set:ipxe,iPXE".to_owned(),
        format!("--dhcp-boot=tag:ipxe,{url}/boot.ipxe"),
    ];
    let options = options.each_ref().map(String::as_str);
    Ok((Dnsmasq::start(lab, &options).await?, http))
}

/// Starts a plain HTTP server.
pub(super) async fn plain_http(folder: &Path, port: u16) -> Result<Child> {
    let http = Command::new("python3")
        .args(["-m", "http.server", &port.to_string(), "--bind", &ADDRESS.to_string(), "--directory"])
        .arg(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let is_up = || async { tokio::net::TcpStream::connect((ADDRESS, port)).await.ok() };
    until("the HTTP server", Duration::from_secs(30), is_up).await?;
    Ok(http)
}
