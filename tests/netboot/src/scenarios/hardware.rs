//! Additional hardware: NVMe, a TPM.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use agent::testing::Tpm;
use agent::tpm::Binding;
use agent_protocol::{Endorsement, from_hexadecimal, hexadecimal};
use anyhow::{Context as _, Result, ensure};
use machinery::random::Random;
use metal_provisioning::agents::endorsement::Endorsements;
use serde_json::json;
use tokio::process::{Child, Command};

use crate::machine::{Boot, Firmware, Machine};
use crate::scenario::{IPXE, Scenario, is_asked};
use crate::wait::{DEADLINE, until};

/// Size of the NVMe disk in bytes, too small for a root disk.
const NVME: usize = 64 << 20;

/// A host with full disk cleaning lets its NVMe disk format itself when it is deprovisioned.
pub async fn nvme() -> Result<()> {
    let (scenario, [image, _]) = Scenario::start_with(&[IPXE], &[]).await?;
    let disk = scenario.lab.file("nvme");
    std::fs::write(&disk, (0..NVME).map(|at| (at >> 8) as u8 ^ at as u8 | 1).collect::<Vec<_>>())?;
    let mut design = Scenario::design(0, Firmware::Bios);
    let file = disk.display();
    design.more = format!(
        "-drive if=none,id=nvme,format=raw,cache=unsafe,file={file} -device nvme,drive=nvme,serial=nvme-0"
    );
    let machine = Machine::new(&scenario.lab, design).await?;

    let mut host = Scenario::host(&machine);
    host["metadata"]["annotations"]["metal.firstlight.dev/erase"] = "everything".into();
    host["spec"]["image"] = image.spec();
    scenario.server.apply(&host).await?;
    let on = (&host, &machine);
    scenario.wait("a person is asked to switch the machine on", DEADLINE, on, is_asked).await?;
    machine.power_on(&Boot::Network).await?;
    let found = scenario.state("provisioned", DEADLINE, on).await?;
    let storage = found["status"]["hardware"]["storage"].as_array().cloned().unwrap_or_default();
    ensure!(
        storage.iter().any(|disk| disk["type"] == "NVME" && disk["serialNumber"] == "nvme-0"),
        "{storage:#?}"
    );
    scenario.console("small image: first runs", DEADLINE, &machine).await?;
    let held = std::fs::read(&disk)?;
    ensure!(held[NVME / 2] != 0, "an image is written to the root disk only");

    scenario.server.delete(&host).await?;
    scenario.wait("a person is asked to restart the machine", DEADLINE, on, is_asked).await?;
    machine.power_off().await;
    machine.power_on(&Boot::Network).await?;
    scenario.wait("the host is gone", DEADLINE, on, serde_json::Value::is_null).await?;
    ensure!(std::fs::read(&disk)?.iter().all(|byte| *byte == 0), "nothing is left on the NVMe disk");
    let name = machine.design().mac.replace(':', "-");
    let agent =
        json!({"apiVersion": "netboot.firstlight.dev/v1alpha1", "kind": "Agent", "metadata": {"name": name}});
    let agent = scenario.server.get(&agent).await?;
    let log = agent["status"]["log"].to_string();
    ensure!(log.contains("/dev/nvme0n1: NVMe format (user data erase)"), "{log}");
    ensure!(log.contains("/dev/vda: discarded, or written with zeros"), "{log}");
    Ok(())
}

/// The server's challenge can be opened only by the right TPM, and only for the right certificate.
pub async fn tpm() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (first, second) =
        (Emulated::start(folder.path(), "first").await?, Emulated::start(folder.path(), "second").await?);
    let asked = tokio::task::spawn_blocking(move || -> Result<()> {
        let (mut first, mut second) = (first.open()?, second.open()?);
        let key = first.endorsement_key()?;
        ensure!(first.endorsement_key()? == key, "a TPM has one endorsement key");
        ensure!(second.endorsement_key()? != key, "and another TPM another");
        let server = Endorsements::new(&Random::system());
        let (certificate, other) = ([1; 32], [2; 32]);
        let mut endorsement = Endorsement { key: hexadecimal(&key.public()), proof: String::new() };
        let challenge = server.challenge(&hexadecimal(&certificate), &endorsement)?;
        let read = |text: &str| from_hexadecimal(text).context("hexadecimal digits");
        let (credential, secret) = (read(&challenge.credential)?, read(&challenge.secret)?);
        let own = Binding::new(certificate);
        // More often than a TPM has slots for objects and sessions.
        for _ in 0..5 {
            ensure!(second.open(&own, &credential, &secret).is_err(), "another TPM opens nothing");
            ensure!(
                first.open(&Binding::new(other), &credential, &secret).is_err(),
                "nor for another certificate"
            );
            endorsement.proof = hexadecimal(&first.open(&own, &credential, &secret)?);
            server.proven(&hexadecimal(&certificate), &endorsement)?;
        }
        ensure!(server.proven(&hexadecimal(&other), &endorsement).is_err(), "a proof is one certificate's");
        Ok(())
    });
    asked.await?
}

/// A TPM emulated by swtpm; stopped when dropped.
struct Emulated {
    _process: Child,
    socket: UnixStream,
}

impl Emulated {
    async fn start(folder: &Path, name: &str) -> Result<Self> {
        let (state, socket) = (folder.join(name), folder.join(format!("{name}.socket")));
        std::fs::create_dir(&state)?;
        let process = Command::new("swtpm")
            .args(["socket", "--tpm2", "--flags", "not-need-init,startup-clear"])
            .args(["--tpmstate", &format!("dir={}", state.display())])
            .args(["--server", &format!("type=unixio,path={}", socket.display())])
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("Debian's package swtpm is needed")?;
        let connected =
            until("swtpm", Duration::from_secs(30), || async { UnixStream::connect(&socket).ok() });
        Ok(Self { socket: connected.await?, _process: process })
    }

    fn open(&self) -> Result<Tpm<UnixStream>> {
        Ok(Tpm::new(self.socket.try_clone()?))
    }
}
