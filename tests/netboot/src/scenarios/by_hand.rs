//! Hosts without a BMC, which the test switches in place of a person.

use anyhow::{Result, ensure};
use serde_json::json;

use crate::machine::{Boot, Firmware};
use crate::scenario::{IPXE, Scenario, is_asked};
use crate::wait::DEADLINE;

/// BIOS with iPXE -> inspection -> a small image -> its user data -> another image.
pub async fn bios() -> Result<()> {
    let (scenario, [first, second]) = Scenario::start_with(&[IPXE], &[]).await?;
    let machine = scenario.machine(0, Firmware::Bios).await?;

    let mut host = Scenario::host(&machine);
    scenario.server.apply(&host).await?;
    scenario
        .wait("a person is asked to switch the machine on", DEADLINE, (&host, &machine), is_asked)
        .await?;
    machine.power_on(&Boot::Network).await?;
    let found = scenario.state("available", DEADLINE, (&host, &machine)).await?;
    let hardware = &found["status"]["hardware"];
    ensure!(hardware["nics"][0]["mac"] == machine.design().mac, "{hardware:#}");
    ensure!(hardware["storage"][0]["sizeBytes"] == machine.design().disk, "{hardware:#}");

    let script = "echo \"user data: $(cat /sys/class/net/*/address | head -n 1)\"\n";
    scenario.secret("user-data", json!({"userData": script})).await?;
    host["spec"]["image"] = first.spec();
    host["spec"]["userData"] = json!({"name": "user-data"});
    scenario.server.apply(&host).await?;
    scenario.state("provisioned", DEADLINE, (&host, &machine)).await?;
    scenario.console("small image: first runs", DEADLINE, &machine).await?;
    scenario.console("user data: ", DEADLINE, &machine).await?;

    host["spec"]["image"] = second.spec();
    scenario.server.apply(&host).await?;
    scenario.state("deprovisioning", DEADLINE, (&host, &machine)).await?;
    scenario.wait("a person is asked to restart the machine", DEADLINE, (&host, &machine), is_asked).await?;
    machine.power_off().await;
    machine.power_on(&Boot::Network).await?;
    scenario.state("provisioned", DEADLINE, (&host, &machine)).await?;
    scenario.console("small image: second runs", DEADLINE, &machine).await?;
    Ok(())
}
