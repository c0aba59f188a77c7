//! DHCP that is not alone, and DHCP that gets lost.

use anyhow::{Context as _, Result, ensure};

use super::DEADLINE;
use crate::dnsmasq::{DNSMASQ, Dnsmasq};
use crate::machine::{Boot, Design, Firmware, Machine};
use crate::scenario::{IPXE, Scenario};

/// Beside a dnsmasq: not started as a full server, and as a proxy a machine with UEFI's PXE and one with BIOS are provisioned at once.
pub async fn proxy() -> Result<()> {
    let (lab, [first, _]) = Scenario::prepare().await?;
    let dnsmasq = Dnsmasq::start(&lab, &[]).await?;
    let refused = Scenario::serve(&lab, &[IPXE], &[]).await.err().context("two servers on one network")?;
    let said = refused.to_string();
    ensure!(said.contains(&DNSMASQ.to_string()) && said.contains("proxy"), "{said}");

    let server = Scenario::serve(&lab, &[], &["--netboot-dhcp", "proxy"]).await?;
    let scenario = Scenario { lab, server };
    let machines =
        [scenario.machine(0, Firmware::UefiPxe).await?, scenario.machine(1, Firmware::Bios).await?];
    let mut hosts = machines.each_ref().map(Scenario::host);
    for (host, machine) in hosts.iter_mut().zip(&machines) {
        host["spec"]["image"] = first.spec();
        scenario.server.apply(host).await?;
        machine.power_on(&Boot::Network).await?;
    }
    for on in hosts.iter().zip(&machines) {
        let waited = scenario.state("provisioned", DEADLINE, on).await;
        waited.with_context(|| format!("--- dnsmasq\n{}", dnsmasq.log()))?;
        scenario.console("small image: first runs", DEADLINE, on.1).await?;
    }
    Ok(())
}

/// A third of all DHCP messages is lost and a third comes twice, both ways: it takes longer.
pub async fn lossy() -> Result<()> {
    let (scenario, [first, _]) = Scenario::start().await?;
    let design = Design { loses_dhcp: true, ..Scenario::design(0, Firmware::UefiHttp) };
    let machine = Machine::new(&scenario.lab, design).await?;
    let mut host = Scenario::host(&machine);
    host["spec"]["image"] = first.spec();
    scenario.server.apply(&host).await?;
    machine.power_on(&Boot::Network).await?;
    scenario.state("provisioned", DEADLINE, (&host, &machine)).await?;
    scenario.console("small image: first runs", DEADLINE, &machine).await
}
