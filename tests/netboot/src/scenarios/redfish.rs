//! Hosts with a BMC: a Redfish service that switches the machine. No manual step follows the creation of the
//! host.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::debian;
use crate::calls::Calls;
use crate::images;
use crate::lab::{ADDRESS, BMC_PORTS};
use crate::libvirt::Libvirt;
use crate::machine::{Boot, Design, Firmware, Machine};
use crate::redfish::{Behaviour, Fault, Identity, Order, Service, Start};
use crate::scenario::{IPXE, Scenario, starts_with_partitions};
use crate::wait::DEADLINE;

/// A virtual machine behind a BMC.
struct Switched(Arc<Machine>);

impl crate::redfish::Machine for Switched {
    fn is_on(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { self.0.is_on() })
    }

    fn start(&self, start: Start) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            let boot = match start.target.as_str() {
                "Hdd" => Boot::Disk,
                "None" => Boot::Own,
                "Cd" => Boot::Cd(start.media.unwrap_or_default()),
                _ => Boot::Network,
            };
            self.0.power_on(&boot).await.map_err(io::Error::other)
        })
    }

    fn ask_to_stop(&self) -> BoxFuture<'_, io::Result<()>> {
        self.stop()
    }

    fn stop(&self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async {
            self.0.power_off().await;
            Ok(())
        })
    }

    fn ejected(&self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async {
            match self.0.is_on() {
                true => self.0.eject().await.map_err(io::Error::other),
                false => Ok(()),
            }
        })
    }

    fn macs(&self) -> Vec<String> {
        vec![self.0.design().mac.clone()]
    }
}

/// Creates a machine, its Redfish service, the host that describes both, and the Secret with the credentials.
pub(super) async fn described(
    scenario: &Scenario,
    design: Design,
) -> Result<(Arc<Machine>, Arc<Service>, Value)> {
    described_as("redfish", scenario, design).await
}

/// Like [`described`], with a given scheme of the BMC's address.
async fn described_as(
    scheme: &str,
    scenario: &Scenario,
    design: Design,
) -> Result<(Arc<Machine>, Arc<Service>, Value)> {
    let machine = Arc::new(Machine::new(&scenario.lab, design).await?);
    let (service, bmc) = bmc_of_lab(&machine).await?;
    let address = format!("{scheme}://{bmc}/redfish/v1/Systems/1");
    let bmc = json!({"address": address, "disableCertificateVerification": true});
    let host = scenario.host_with_bmc(&machine, bmc).await?;
    Ok((machine, service, host))
}

/// Starts the BMC of a machine at a port of the lab that no other BMC has.
async fn bmc_of_lab(machine: &Arc<Machine>) -> Result<(Arc<Service>, SocketAddr)> {
    for port in BMC_PORTS {
        if let Ok(started) = bmc(machine, (ADDRESS, port).into()).await {
            return Ok(started);
        }
    }
    anyhow::bail!("the lab has no port left for a BMC: {BMC_PORTS:?}")
}

/// Starts the BMC of a machine at an address; port 0 is a free one. It has a user `admin`, and a certificate that it has signed itself.
pub(super) async fn bmc(machine: &Arc<Machine>, address: SocketAddr) -> Result<(Arc<Service>, SocketAddr)> {
    let service = Service::new(Arc::new(Switched(machine.clone())), Behaviour::default());
    let identity = Identity::self_signed(&[&address.ip().to_string()]);
    let (address, _serving) = service.clone().listen(address, Some(identity)).await?;
    Ok((service, address))
}

/// UEFI HTTP boot -> inspection -> an image with a wrong checksum -> the image -> its user data -> another
/// image -> the host is deleted.
pub async fn uefi_http() -> Result<()> {
    let (scenario, [first, second]) = Scenario::start().await?;
    let (machine, service, mut host) = described(&scenario, Scenario::design(0, Firmware::UefiHttp)).await?;
    // A BMC may be busy.
    service.order(Order { method: "GET", path: "/Systems/1", times: 1, fault: Fault::Busy(Some(1)) });

    scenario.secret("user-data", json!({"userData": "echo user data of host-0\n"})).await?;
    host["spec"]["userData"] = json!({"name": "user-data"});
    let mut wrong = first.spec();
    wrong["checksum"] = "0".repeat(64).into();
    host["spec"]["image"] = wrong;
    scenario.server.apply(&host).await?;

    let on = (&host, machine.as_ref());
    let failed = |host: &Value| host["status"]["errorType"] == "provisioning error";
    let found = scenario.wait("the checksum is found wrong", DEADLINE, on, failed).await?;
    let message = found["status"]["errorMessage"].as_str().unwrap_or_default().to_owned();
    ensure!(message.contains(&first.checksum), "an error that says what the sum is: {message}");
    ensure!(!starts_with_partitions(&machine)?, "a disk that was not written whole has no partition table");

    host["spec"]["image"] = first.spec();
    scenario.server.apply(&host).await?;
    let on = (&host, machine.as_ref());
    scenario.state("provisioned", DEADLINE, on).await?;
    scenario.console("small image: first runs", DEADLINE, &machine).await?;
    scenario.console("user data of host-0", DEADLINE, &machine).await?;

    host["spec"]["image"] = second.spec();
    scenario.server.apply(&host).await?;
    let on = (&host, machine.as_ref());
    scenario.state("deprovisioning", DEADLINE, on).await?;
    scenario.state("provisioned", DEADLINE, on).await?;
    scenario.console("small image: second runs", DEADLINE, &machine).await?;

    scenario.delete(DEADLINE, on).await?;
    ensure!(!machine.is_on(), "a machine whose host is deleted is switched off");
    Ok(())
}

/// Virtual media, with HTTP as the only network service and a static address from the host: inspection -> an
/// image -> the host is deleted.
pub async fn virtual_media() -> Result<()> {
    let (scenario, [first, _]) = Scenario::start_with(&[], &["--netboot-dhcp", "off"]).await?;
    let design = Scenario::design(0, Firmware::UefiHttp);
    let mac = design.mac.clone();
    let (machine, service, mut host) = described_as("redfish-virtualmedia", &scenario, design).await?;
    let network = json!({
        "links": [{"id": "nic", "type": "phy", "ethernet_mac_address": mac}],
        "networks": [{"type": "ipv4", "link": "nic", "ip_address": "10.77.0.200", "netmask": "255.255.255.0"}],
    });
    scenario.secret("network", json!({"networkData": network.to_string()})).await?;
    scenario.secret("user-data", json!({"userData": "echo user data of host-0\n"})).await?;
    host["spec"]["preprovisioningNetworkDataName"] = "network".into();
    host["spec"]["userData"] = json!({"name": "user-data"});
    host["spec"]["image"] = first.spec();
    scenario.server.apply(&host).await?;
    let on = (&host, machine.as_ref());
    scenario.state("provisioned", DEADLINE, on).await?;
    scenario.console("small image: first runs", DEADLINE, &machine).await?;
    scenario.console("user data of host-0", DEADLINE, &machine).await?;
    let console = machine.console().text();
    ensure!(
        !console.contains("asking for an address"),
        "an address that is told is not asked for: {console}"
    );
    ensure!(service.media().is_none(), "the agent's image is taken out");
    let image = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "PreprovisioningImage",
        "metadata": {"name": "host-0", "namespace": host["metadata"]["namespace"]},
    });
    let image = scenario.server.get(&image).await?;
    ensure!(
        image["status"]["format"] == "iso" && image["status"]["networkData"]["name"] == "network",
        "{image:#}"
    );

    scenario.delete(DEADLINE, on).await?;
    ensure!(!machine.is_on() && service.media().is_none(), "a machine whose host is deleted is switched off");
    Ok(())
}

/// sushy-tools on libvirt, an independent Redfish implementation, with BIOS and iPXE: inspection -> Debian,
/// whose cloud-init runs the host's user data and phones home -> deprovisioned, with an empty disk -> a small
/// image -> the host is deleted.
pub async fn libvirt() -> Result<()> {
    let (scenario, [first, _]) = Scenario::start_with(&[IPXE], &[]).await?;
    let image = images::debian(&scenario.lab.file("images")).await?;
    let mut calls = Calls::listen().await?;
    let machine = Machine::new(&scenario.lab, debian::design()).await?;
    let _libvirt = Libvirt::start(&scenario.lab, &machine).await?;
    let mut host = scenario.host_with_bmc(&machine, json!({"address": Libvirt::address()})).await?;
    debian::has_user_data(&scenario, &mut host).await?;
    host["spec"]["bootMode"] = "legacy".into();
    host["spec"]["image"] = image.spec();
    scenario.server.apply(&host).await?;
    scenario.state("provisioned", DEADLINE, (&host, &machine)).await?;
    debian::phones_home(&mut calls, &machine).await?;
    scenario.console("user data of host-0", DEADLINE, &machine).await?;

    host["spec"].as_object_mut().context("a spec")?.remove("image");
    scenario.server.apply(&host).await?;
    let on = (&host, &machine);
    scenario.state("deprovisioning", DEADLINE, on).await?;
    scenario.state("available", DEADLINE, on).await?;
    ensure!(!starts_with_partitions(&machine)?, "nothing is left on the disk");

    host["spec"]["image"] = first.spec();
    scenario.server.apply(&host).await?;
    let on = (&host, &machine);
    scenario.state("provisioned", DEADLINE, on).await?;
    scenario.console("small image: first runs", DEADLINE, &machine).await?;
    scenario.delete(DEADLINE, on).await
}
