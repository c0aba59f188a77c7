//! Other DHCP servers, and lost DHCP messages.

use anyhow::{Context as _, Result, ensure};

use serde_json::json;

use crate::dnsmasq::{DNSMASQ, Dnsmasq};
use crate::machine::{Boot, Design, Firmware, Machine};
use crate::relay::{FAR, NETWORK, Relay};
use crate::scenario::{IPXE, Scenario};
use crate::wait::DEADLINE;

/// Next to a dnsmasq: the server refuses to start as a full DHCP server unless told to, and as a proxy it
/// provisions a machine with UEFI PXE and one with BIOS at the same time.
pub async fn proxy() -> Result<()> {
    let (lab, [first, _]) = Scenario::prepare().await?;
    let dnsmasq = Dnsmasq::start(&lab, &[]).await?;
    let refused = Scenario::serve(&lab, &[IPXE], &[]).await.err().context("two servers on one network")?;
    let said = refused.to_string();
    ensure!(said.contains(&DNSMASQ.to_string()) && said.contains("proxy"), "{said}");

    Scenario::serve(&lab, &[], &["--netboot-beside-dhcp-server"]).await?.kill().await;

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

/// One third of all DHCP messages is lost and one third is duplicated, in both directions; provisioning only
/// takes longer.
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

/// A machine in another segment is provisioned through that segment's relaying router.
pub async fn relay() -> Result<()> {
    let subnet = format!("{NETWORK},router={FAR},pool=10.78.0.50-10.78.0.59");
    let (scenario, [first, _]) = Scenario::start_with(&[], &["--netboot-subnet", &subnet]).await?;
    let relay = Relay::start(&scenario.lab).await?;
    let design = Design { is_far: true, ..Scenario::design(0, Firmware::UefiHttp) };
    let machine = Machine::new(&scenario.lab, design).await?;
    let mut host = Scenario::host(&machine);
    host["spec"]["image"] = first.spec();
    scenario.server.apply(&host).await?;
    machine.power_on(&Boot::Network).await?;
    let provisioned = scenario.state("provisioned", DEADLINE, (&host, &machine)).await;
    provisioned.with_context(|| format!("--- the relay\n{}", relay.log()))?;
    scenario.console("small image: first runs", DEADLINE, &machine).await?;
    let lease = json!({
        "apiVersion": "netboot.firstlight.dev/v1alpha1", "kind": "DHCPLease",
        "metadata": {"name": machine.design().mac.replace(':', "-")},
    });
    let lease = scenario.server.get(&lease).await?;
    let address = lease["spec"]["ipAddress"].as_str().unwrap_or_default();
    ensure!(lease["spec"]["relayAddress"] == FAR && address.starts_with("10.78.0.5"), "{lease:#}");
    Ok(())
}
