//! A host whose BMC speaks IPMI, by somebody else's implementation of it.

use std::sync::Arc;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::DEADLINE;
use crate::ipmi::{Ipmi, PORT};
use crate::lab::ADDRESS;
use crate::machine::Firmware;
use crate::scenario::{Scenario, starts_with_partitions};

/// Inspection → an image → the host is deleted.
pub async fn uefi_http() -> Result<()> {
    let (scenario, [first, _]) = Scenario::start().await?;
    let machine = Arc::new(scenario.machine(0, Firmware::UefiHttp).await?);
    let _controller = Ipmi::start(machine.clone(), ("admin", "correct horse")).await?;

    let mut host = Scenario::host(&machine);
    host["metadata"]["annotations"] = json!({});
    host["spec"]["bmc"] = json!({"address": format!("ipmi://{ADDRESS}:{PORT}"), "credentialsName": "bmc"});
    host["spec"]["image"] = first.spec();
    scenario.secret("bmc", json!({"username": "admin", "password": "correct horse"})).await?;
    scenario.server.apply(&host).await?;
    let on = (&host, machine.as_ref());
    scenario.state("provisioned", DEADLINE, on).await?;
    scenario.console("small image: first runs", DEADLINE, &machine).await?;

    scenario.server.delete(&host).await?;
    scenario.wait("the host is gone", DEADLINE, on, Value::is_null).await?;
    ensure!(!machine.is_on(), "a machine whose host is deleted is switched off");
    ensure!(!starts_with_partitions(&machine)?, "nothing is left on the disk");
    Ok(())
}
