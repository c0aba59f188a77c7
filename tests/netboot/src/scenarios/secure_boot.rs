//! Secure Boot: unsigned programs do not start.

use anyhow::Result;
use serde_json::Value;

use super::discovery::agent;
use crate::lab::run;
use crate::machine::{Boot, Firmware};
use crate::scenario::Scenario;
use crate::server::binary;
use crate::wait::DEADLINE;

/// The key of OVMF's test variables, its password, and its certificate.
const KEY: (&str, &str, &str) =
    ("/usr/share/ovmf/PkKek-1-snakeoil.key", "pass:snakeoil", "/usr/share/ovmf/PkKek-1-snakeoil.pem");

/// The unsigned kernel image is refused, then signed by the site and started; a person approves the machine.
pub async fn unsigned_and_signed() -> Result<()> {
    let (scenario, _) = Scenario::start().await?;
    let machine = scenario.machine(0, Firmware::SecureBoot).await?;
    let host = Scenario::host(&machine);
    scenario.server.apply(&host).await?;
    machine.power_on(&Boot::Network).await?;
    scenario.console("Access Denied", DEADLINE, &machine).await?;
    machine.power_off().await;

    let file = |name: &str| scenario.lab.file(name).to_string_lossy().into_owned();
    let (key, image, signed) =
        (file("key"), file("data/netboot/made/x86_64/firstlight.efi"), file("signed.efi"));
    let (encrypted, password, certificate) = KEY;
    run("openssl", &["rsa", "-in", encrypted, "-passin", password, "-out", &key]).await?;
    run("sbsign", &["--key", &key, "--cert", certificate, "--output", &signed, &image]).await?;
    std::fs::rename(&signed, &image)?;
    machine.power_on(&Boot::Network).await?;
    // The signed image is the same for all machines and has no token, so a person must approve this machine.
    let (agent, inspected) = (agent(&machine), |agent: &Value| agent["status"]["hardware"].is_object());
    scenario.wait("the machine was inspected", DEADLINE, (&agent, &machine), inspected).await?;
    let data = file("data");
    run(&binary()?, &["metal", "approve", &machine.design().mac, "--data-dir", &data]).await?;
    scenario.state("available", DEADLINE, (&host, &machine)).await?;
    Ok(())
}
