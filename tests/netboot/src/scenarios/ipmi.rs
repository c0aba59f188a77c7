//! A host with an IPMI BMC, by an independent implementation.

use std::sync::Arc;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::ipmi::{Ipmi, PORT};
use crate::lab::ADDRESS;
use crate::machine::Firmware;
use crate::scenario::Scenario;
use crate::wait::DEADLINE;

/// Inspection -> an image -> the host is deleted.
pub async fn uefi_http() -> Result<()> {
    let (scenario, [first, _]) = Scenario::start().await?;
    let machine = Arc::new(scenario.machine(0, Firmware::UefiHttp).await?);
    let _controller = Ipmi::start(machine.clone(), ("admin", "correct horse")).await?;

    let bmc = json!({"address": format!("ipmi://{ADDRESS}:{PORT}")});
    let mut host = scenario.host_with_bmc(&machine, bmc).await?;
    host["spec"]["image"] = first.spec();
    scenario.server.apply(&host).await?;
    let on = (&host, machine.as_ref());
    scenario.state("provisioned", DEADLINE, on).await?;
    scenario.console("small image: first runs", DEADLINE, &machine).await?;

    scenario.delete(DEADLINE, on).await?;
    ensure!(!machine.is_on(), "a machine whose host is deleted is switched off");
    Ok(())
}
