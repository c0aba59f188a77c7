//! Machines without a BareMetalHost.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::lab::run;
use crate::machine::{Boot, Firmware, Machine};
use crate::scenario::{IPXE, NAMESPACE, Scenario};
use crate::server::binary;
use crate::wait::DEADLINE;

/// Returns the Agent object of a machine.
pub(super) fn agent(machine: &Machine) -> Value {
    let name = machine.design().mac.replace(':', "-");
    json!({"apiVersion": "netboot.firstlight.dev/v1alpha1", "kind": "Agent", "metadata": {"name": name}})
}

/// Returns the host that is created for an approved machine.
fn host(machine: &Machine) -> Value {
    let name = format!("host-{}", machine.design().mac.replace(':', "-"));
    let metadata = json!({"name": name, "namespace": NAMESPACE});
    json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": metadata})
}

/// Two machines at the same time, one with UEFI HTTP boot, one with PXE and iPXE: inspected, approved,
/// provisioned.
pub async fn two() -> Result<()> {
    let (scenario, [first, _]) = Scenario::start_with(&[IPXE], &[]).await?;
    let machines =
        [scenario.machine(0, Firmware::UefiHttp).await?, scenario.machine(1, Firmware::UefiPxe).await?];
    for machine in &machines {
        machine.power_on(&Boot::Network).await?;
    }
    for machine in &machines {
        let inspected = |agent: &Value| agent["status"]["hardware"]["storage"][0].is_object();
        scenario.wait("the machine was inspected", DEADLINE, (&agent(machine), machine), inspected).await?;
        ensure!(scenario.server.get(&host(machine)).await?.is_null(), "nobody has approved it");
    }
    let data = scenario.lab.file("data").to_string_lossy().into_owned();
    let shown = run(&binary()?, &["metal", "hosts", "--data-dir", &data]).await?;
    ensure!(shown.matches("waits for approval").count() == 2, "{shown}");
    let [one, other] = machines.each_ref().map(|machine| machine.design().mac.as_str());
    run(&binary()?, &["metal", "approve", one, other, "--data-dir", &data]).await?;

    for machine in &machines {
        scenario.state("available", DEADLINE, (&host(machine), machine)).await?;
        scenario.server.merge(&host(machine), json!({"spec": {"image": first.spec()}})).await?;
    }
    for machine in &machines {
        scenario.state("provisioned", DEADLINE, (&host(machine), machine)).await?;
        scenario.console("small image: first runs", DEADLINE, machine).await?;
    }
    Ok(())
}
