//! What every scenario has: a lab, a server, and a way to wait for a host that shows everything when it does not come.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use crate::images::{self, Image};
use crate::lab::Lab;
use crate::machine::{Design, Firmware, Machine};
use crate::server::Server;
use crate::wait::until;

/// Namespace of the hosts.
pub const NAMESPACE: &str = "default";

/// A lab with a server in it.
pub struct Scenario {
    /// The network.
    pub lab: Lab,
    /// The server.
    pub server: Server,
}

/// The files that machines boot, which `tests/netboot/install-tools` put there.
pub fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/netboot")
}

impl Scenario {
    /// A lab whose server gives out two images, `first` and `second`.
    ///
    /// # Errors
    /// What the lab, the images or the server lack.
    pub async fn start() -> Result<(Self, [Image; 2])> {
        let lab = Lab::new().await?;
        let folder = lab.file("images");
        std::fs::create_dir(&folder)?;
        let images = [images::small("first", &folder).await?, images::small("second", &folder).await?];
        let folder = folder.to_string_lossy().into_owned();
        let server = Server::start(&lab, &[&assets()], &["--netboot-images", &folder]).await?;
        Ok((Self { lab, server }, images))
    }

    /// A machine for `host-0`, switched off, with an empty disk.
    ///
    /// # Errors
    /// As [`Machine::new`].
    pub async fn machine(&self, firmware: Firmware) -> Result<Machine> {
        let design = Design {
            name: "host-0".into(),
            mac: "52:54:00:00:00:10".into(),
            firmware,
            memory: 1024,
            disk: 8 << 30,
        };
        Machine::new(&self.lab, design).await
    }

    /// A host without a BMC for `machine`: a person switches it.
    pub fn host(machine: &Machine) -> Value {
        json!({
            "apiVersion": "metal3.io/v1alpha1",
            "kind": "BareMetalHost",
            "metadata": {
                "name": machine.design().name,
                "namespace": NAMESPACE,
                "annotations": {"metal.firstlight.dev/power": "manual"},
            },
            "spec": {"online": true, "bootMACAddress": machine.design().mac},
        })
    }

    /// Waits until the host says that `condition` holds.
    ///
    /// # Errors
    /// With the host, the machine's console and the server's log, when it does not within `deadline`.
    pub async fn wait(
        &self,
        what: &str,
        deadline: Duration,
        (host, machine): (&Value, &Machine),
        condition: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let waited = until(what, deadline, || async {
            let found = self.server.get(host).await.ok()?;
            condition(&found).then_some(found)
        });
        let error = match waited.await {
            Ok(found) => return Ok(found),
            Err(error) => error,
        };
        let found = self.server.get(host).await.unwrap_or_default();
        let mut status = found["status"].clone();
        status["hardware"] = Value::Null;
        Err(anyhow!(
            "{error}\n--- the host\n{status:#}\n--- its console\n{}\n--- the server\n{}",
            machine.console().tail(),
            last_lines(&self.server.log(), 60),
        ))
    }

    /// Waits for a state of the host.
    ///
    /// # Errors
    /// As [`Scenario::wait`].
    pub async fn state(&self, state: &str, deadline: Duration, on: (&Value, &Machine)) -> Result<Value> {
        self.wait(state, deadline, on, |host| host["status"]["provisioning"]["state"] == state).await
    }

    /// Waits until the console shows `text`.
    ///
    /// # Errors
    /// With the console, when it does not within `deadline`.
    pub async fn console(&self, text: &str, deadline: Duration, machine: &Machine) -> Result<()> {
        let waited =
            until(text, deadline, || async { machine.console().text().contains(text).then_some(()) });
        waited.await.map_err(|error| anyhow!("{error}\n--- the console\n{}", machine.console().tail()))
    }
}

/// Whether a person is asked to do something.
pub fn is_asked(host: &Value) -> bool {
    let conditions = host["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|known| known["type"] == "WaitingForOperator" && known["status"] == "True")
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
