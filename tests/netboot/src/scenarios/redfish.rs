//! Hosts with a BMC: a Redfish service that switches the machine. Nobody touches anything after the host was described.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use futures::future::BoxFuture;
use serde_json::json;

use crate::lab::ADDRESS;
use crate::machine::{Boot, Firmware, Machine};
use crate::redfish::{Behaviour, Fault, Identity, Order, Service, Start};
use crate::scenario::{NAMESPACE, Scenario};

/// Machines take seconds; a loaded processor takes four times as long.
const DEADLINE: Duration = Duration::from_secs(180);
/// User and password of the service.
const CREDENTIALS: (&str, &str) = ("admin", "correct horse");

/// A virtual machine behind a BMC.
struct Switched(Arc<Machine>);

impl crate::redfish::Machine for Switched {
    fn is_on(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { self.0.is_on() })
    }

    fn start(&self, start: Start) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            let boot = if start.target == "Hdd" { Boot::Disk } else { Boot::Network };
            self.0.power_on(&boot).map_err(io::Error::other)
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

    fn macs(&self) -> Vec<String> {
        vec![self.0.design().mac.clone()]
    }
}

/// UEFI HTTP boot → inspection → an image whose checksum is wrong → the image → its user data → another image → the host is deleted.
pub async fn uefi_http() -> Result<()> {
    let (scenario, [first, second]) = Scenario::start().await?;
    let machine = Arc::new(scenario.machine(Firmware::UefiHttp).await?);
    let service = Service::new(Arc::new(Switched(machine.clone())), Behaviour::default());
    let identity = Identity::self_signed(&[&ADDRESS.to_string()]);
    let (bmc, _serving) = service.clone().listen((ADDRESS, 0).into(), Some(identity)).await?;
    // A BMC may be busy.
    service.order(Order { method: "GET", path: "/Systems/1", times: 1, fault: Fault::Busy(Some(1)) });

    let mut host = Scenario::host(&machine);
    host["metadata"]["annotations"] = json!({});
    host["spec"]["bmc"] = json!({
        "address": format!("redfish://{bmc}/redfish/v1/Systems/1"),
        "credentialsName": "bmc",
        "disableCertificateVerification": true,
    });
    for (name, data) in [
        ("bmc", json!({"username": CREDENTIALS.0, "password": CREDENTIALS.1})),
        ("user-data", json!({"userData": "echo user data of host-0\n"})),
    ] {
        let metadata = json!({"name": name, "namespace": NAMESPACE});
        scenario
            .server
            .apply(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}))
            .await?;
    }
    host["spec"]["userData"] = json!({"name": "user-data"});
    let mut wrong = first.spec();
    wrong["checksum"] = "0".repeat(64).into();
    host["spec"]["image"] = wrong;
    scenario.server.apply(&host).await?;

    let on = (&host, machine.as_ref());
    let failed = |host: &serde_json::Value| host["status"]["errorType"] == "provisioning error";
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

    scenario.server.delete(&host).await?;
    scenario.wait("the host is gone", DEADLINE, on, serde_json::Value::is_null).await?;
    ensure!(!machine.is_on(), "a machine whose host is deleted is switched off");
    ensure!(!starts_with_partitions(&machine)?, "nothing is left on the disk");
    Ok(())
}

/// Whether the disk has the signature of a partition table, at either of its two places.
fn starts_with_partitions(machine: &Machine) -> Result<bool> {
    use std::io::Read as _;
    let mut start = vec![0; 1024];
    std::fs::File::open(machine.disk())?.read_exact(&mut start)?;
    Ok(start[510..512] == [0x55, 0xaa] || &start[512..520] == b"EFI PART")
}
