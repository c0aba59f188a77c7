//! A sequence of faults with one host, which is provisioned in the end.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::redfish;
use crate::images::Image;
use crate::lab::run;
use crate::machine::{Design, Firmware};
use crate::scenario::{Scenario, starts_with_partitions};
use crate::wait::{DEADLINE, until};

/// Write rate of the disk in bytes per second, so slow that there is time to disturb the writing of an image.
const DISK_SPEED: u64 = 4 << 20;

/// Creates an image that is larger than the machine's disk.
async fn too_large(scenario: &Scenario) -> Result<Value> {
    let path = scenario.lab.file("images/large.qcow2");
    let name = path.to_string_lossy().into_owned();
    run("qemu-img", &["create", "-q", "-f", "qcow2", &name, "16G"]).await?;
    let sum = run("sha256sum", &[&name]).await?;
    let checksum = sum.split_whitespace().next().unwrap_or_default().to_owned();
    let mut spec = Image { path, checksum }.spec();
    spec["format"] = "qcow2".into();
    Ok(spec)
}

/// Root device hints that match no disk -> an image larger than the disk -> a power failure while the image
/// is written -> a kill of the server while the machine boots, and another while the image is written.
pub async fn all() -> Result<()> {
    let (mut scenario, [first, _]) = Scenario::start().await?;
    let design = Design { disk_speed: Some(DISK_SPEED), ..Scenario::design(0, Firmware::UefiHttp) };
    let (machine, _service, mut host) = redfish::described(&scenario, design).await?;
    let agent = json!({
        "apiVersion": "netboot.firstlight.dev/v1alpha1", "kind": "Agent",
        "metadata": {"name": machine.design().mac.replace(':', "-")},
    });
    let message = |host: &Value| host["status"]["errorMessage"].as_str().unwrap_or_default().to_owned();

    host["spec"]["rootDeviceHints"] = json!({"minSizeGigabytes": 1000});
    host["spec"]["image"] = first.spec();
    scenario.server.apply(&host).await?;
    let is_hint = |host: &Value| message(host).contains("no disk");
    let found = scenario.wait("hints that fit no disk", DEADLINE, (&host, &machine), is_hint).await?;
    ensure!(message(&found).contains("vda"), "an error that names the disks: {}", message(&found));

    host["spec"]["rootDeviceHints"] = json!({"deviceName": "/dev/vda"});
    host["spec"]["image"] = too_large(&scenario).await?;
    scenario.server.apply(&host).await?;
    let is_size = |host: &Value| message(host).contains("disk of 17179869184 bytes") && !is_hint(host);
    scenario.wait("the disk is too small", DEADLINE, (&host, &machine), is_size).await?;
    ensure!(!starts_with_partitions(&machine)?, "nothing was written");

    host["spec"]["image"] = first.spec();
    scenario.server.apply(&host).await?;
    let is_writing = |agent: &Value| {
        agent["spec"]["instruction"]["action"] == "Deploy"
            && agent["status"]["instruction"]["bytesDone"].as_i64().unwrap_or_default() > 0
    };
    scenario.wait("the image is being written", DEADLINE, (&agent, &machine), is_writing).await?;
    machine.power_off().await;
    ensure!(!starts_with_partitions(&machine)?, "a disk that was not written whole has no partition table");

    let starts = machine.console().text().matches("starts").count();
    let started = || async { (machine.console().text().matches("starts").count() > starts).then_some(()) };
    until("the machine starts again", DEADLINE, started).await?;
    scenario = restart(scenario).await?;
    scenario.wait("the image is being written again", DEADLINE, (&agent, &machine), is_writing).await?;
    scenario = restart(scenario).await?;
    scenario.state("provisioned", DEADLINE, (&host, &machine)).await?;
    scenario.console("small image: first runs", DEADLINE, &machine).await
}

/// Kills the server, and starts a new one on its data.
async fn restart(scenario: Scenario) -> Result<Scenario> {
    let Scenario { lab, server } = scenario;
    server.kill().await;
    let server = Scenario::serve(&lab, &[], &[]).await?;
    Ok(Scenario { lab, server })
}
