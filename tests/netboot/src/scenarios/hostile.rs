//! A hostile machine on the network next to an honest one that is being installed.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use serde_json::json;

use crate::elsewhere::Elsewhere;
use crate::lab::{ADDRESS, BRIDGE};
use crate::machine::{Boot, Firmware, Machine};
use crate::scenario::{IPXE, NAMESPACE, Scenario};
use crate::wait::{DEADLINE, until};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/hostile-machine");
/// A text in the user data of the honest machine's host.
const SECRET: &str = "for-the-honest-machine-only";

/// Starts `tests/netboot/hostile-machine`, which attacks the server under its own identity or that of
/// `victim`.
async fn hostile(scenario: &Scenario, mode: &str, victim: &Machine) -> Result<Elsewhere> {
    let folder = scenario.lab.file(&format!("hostile-{mode}"));
    std::fs::create_dir(&folder)?;
    let (server, folder) = (ADDRESS.to_string(), folder.to_string_lossy().into_owned());
    let arguments = [PROGRAM, &server, &victim.design().mac, mode, &folder];
    let script = "exec \"$0\" \"$@\"";
    Elsewhere::start(&scenario.lab, mode, &[(BRIDGE, mode)], script, &arguments).await
}

/// Waits until the hostile machine has completed this many rounds.
async fn rounds(machine: &Elsewhere, count: usize) -> Result<()> {
    let what = format!("{count} rounds of the hostile machine");
    until(&what, DEADLINE, || async { (machine.log().matches(" over\n").count() >= count).then_some(()) })
        .await
}

/// The hostile machine attacks from its own address all the time, and with forged frames while the honest
/// agent runs. It must learn nothing about the host, and the installation must succeed
/// (docs/decisions/provisioning-network.md).
pub async fn beside_an_honest_machine() -> Result<()> {
    let (scenario, [first, _]) = Scenario::start_with(&[IPXE], &[]).await?;
    let machine = scenario.machine(0, Firmware::Bios).await?;
    let mut host = Scenario::host(&machine);
    scenario.secret("user-data", json!({"userData": format!("echo {SECRET}\n")})).await?;
    host["spec"]["image"] = first.spec();
    host["spec"]["userData"] = json!({"name": "user-data"});
    scenario.server.apply(&host).await?;

    let stranger = hostile(&scenario, "own", &machine).await?;
    rounds(&stranger, 1).await?;
    machine.power_on(&Boot::Network).await?;
    scenario.state("provisioning", DEADLINE, (&host, &machine)).await?;
    let forger = hostile(&scenario, "forged", &machine).await?;
    rounds(&forger, 1).await?;
    let forged = forger.log();
    drop(forger);
    scenario.state("provisioned", DEADLINE, (&host, &machine)).await?;
    scenario.console("small image: first runs", DEADLINE, &machine).await?;
    scenario.console(SECRET, DEADLINE, &machine).await?;
    rounds(&stranger, 2).await?;

    let own = stranger.log();
    ensure!(own.contains("# own lease 0\n"), "it has no lease: {own}");
    for log in [&own, &forged] {
        ensure!(!log.contains(SECRET), "it was told the host's user data:\n{log}");
        ensure!(
            !log.contains("\"Deploy\"") && !log.contains("# own config-drive 200"),
            "it is the host:\n{log}"
        );
    }
    let scripts = own.split("# ").filter(|answer| answer.starts_with("own script 200\n"));
    ensure!(scripts.clone().count() > 1, "{own}");
    ensure!(
        !scripts.clone().any(|script| script.contains("firstlight.token=")),
        "it has the host's token:\n{own}"
    );
    let events: Api<Event> = Api::namespaced(scenario.server.client().clone(), NAMESPACE);
    let said = events.list(&Default::default()).await?;
    let reasons: Vec<_> = said.iter().filter_map(|event| event.reason.as_deref()).collect();
    ensure!(reasons.contains(&"MachineClaimed"), "{reasons:?}");
    Ok(())
}
