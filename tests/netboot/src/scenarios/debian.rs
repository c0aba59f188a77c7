//! A Debian image with cloud-init, as used in production.

use std::io::Write as _;

use anyhow::{Context as _, Result, ensure};
use machinery::clock::Clock;
use serde_json::{Value, json};

use super::redfish;
use crate::calls::{Calls, PORT};
use crate::images;
use crate::lab::ADDRESS;
use crate::machine::{Design, Firmware, Machine};
use crate::scenario::{IPXE, Scenario};
use crate::wait::DEADLINE;

/// Returns the configuration of a machine large enough for Debian.
pub(super) fn design() -> Design {
    Design { memory: 2048, ..Scenario::design(0, Firmware::Bios) }
}

/// Sets user data by which the installed system phones home.
pub(super) async fn has_user_data(scenario: &Scenario, host: &mut Value) -> Result<()> {
    let home = format!("http://{ADDRESS}:{PORT}/");
    let user_data = json!({
        "runcmd": [["sh", "-c", "echo user data of $(hostname) > /dev/ttyS0"]],
        "phone_home": {"url": home, "post": ["instance_id", "hostname"], "tries": 20},
    });
    scenario.secret("user-data", json!({"userData": format!("#cloud-config\n{user_data}\n")})).await?;
    host["spec"]["userData"] = json!({"name": "user-data"});
    Ok(())
}

/// Waits until the system of `host-0` has phoned home.
pub(super) async fn phones_home(calls: &mut Calls, machine: &Machine) -> Result<()> {
    let called = calls.heard(DEADLINE).await;
    let called = called.with_context(|| format!("--- its console\n{}", machine.console().tail()))?;
    ensure!(called.contains("hostname=host-0"), "{called}");
    Ok(())
}

/// BIOS with iPXE, switched by Redfish -> inspection -> Debian of 940 MiB -> cloud-init runs the host's user
/// data and phones home, and the program on the drive reports that it has ended well.
pub async fn cloud_init() -> Result<()> {
    let (scenario, _) = Scenario::start_with(&[IPXE], &[]).await?;
    let image = images::debian(&scenario.lab.file("images")).await?;
    let mut calls = Calls::listen().await?;
    let (machine, _service, mut host) = redfish::described(&scenario, design()).await?;
    has_user_data(&scenario, &mut host).await?;
    host["spec"]["bootMode"] = "legacy".into();
    host["spec"]["image"] = image.spec();
    let start = Clock::system().monotonic();
    scenario.server.apply(&host).await?;
    scenario.state("provisioned", DEADLINE, (&host, &machine)).await?;
    let provisioned = start.elapsed().as_secs_f64();
    phones_home(&mut calls, &machine).await?;
    writeln!(
        std::io::stdout(),
        "figure: firstlight, BIOS, Debian of 940 MiB: from the description, image written after {provisioned:.1} s, cloud-init finished after {:.1} s",
        start.elapsed().as_secs_f64()
    )?;
    let has_reported = |host: &Value| {
        let report = host["metadata"]["annotations"]["metal.firstlight.dev/bootstrap"].as_str();
        report.is_some_and(|report| report.contains(r#""state":"Succeeded""#))
    };
    scenario.wait("the end of cloud-init is reported", DEADLINE, (&host, &machine), has_reported).await?;
    scenario.console("user data of host-0", DEADLINE, &machine).await
}
