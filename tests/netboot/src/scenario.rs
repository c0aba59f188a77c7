//! The common parts of all scenarios: a lab, a server, and a wait for a host that shows all logs on failure.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use serde_json::{Value, json};

use crate::assets::assets;
use crate::images::{self, Image};
use crate::lab::Lab;
use crate::machine::{Design, Firmware, Machine};
use crate::server::Server;
use crate::wait::until;

/// The folder of Debian's package `ipxe`.
pub const IPXE: &str = "/usr/lib/ipxe";

/// Namespace of the hosts.
pub const NAMESPACE: &str = "default";

/// A lab with a server in it.
pub struct Scenario {
    /// The network of the machines.
    pub lab: Lab,
    /// The server.
    pub server: Server,
}

impl Scenario {
    /// Creates a lab whose server serves two images, `first` and `second`.
    ///
    /// # Errors
    /// Fails if the lab, the images or the server cannot be created.
    pub async fn start() -> Result<(Self, [Image; 2])> {
        Self::start_with(&[], &[]).await
    }

    /// Like [`Scenario::start`], with more boot files and more options of the server.
    ///
    /// # Errors
    /// The errors of [`Scenario::start`].
    pub async fn start_with(more: &[&str], options: &[&str]) -> Result<(Self, [Image; 2])> {
        let (lab, images) = Self::prepare().await?;
        let server = Self::serve(&lab, more, options).await?;
        Ok((Self { lab, server }, images))
    }

    /// Creates the lab and the images, without a server.
    ///
    /// # Errors
    /// Fails if the lab or the images cannot be created.
    pub async fn prepare() -> Result<(Lab, [Image; 2])> {
        let lab = Lab::new().await?;
        let folder = lab.file("images");
        std::fs::create_dir(&folder)?;
        let images = [images::small("first", &folder).await?, images::small("second", &folder).await?];
        Ok((lab, images))
    }

    /// Starts a server for a lab; it may be a new one on the data of the first.
    ///
    /// # Errors
    /// Fails if the server cannot be started.
    pub async fn serve(lab: &Lab, more: &[&str], options: &[&str]) -> Result<Server> {
        let folder = lab.file("images").to_string_lossy().into_owned();
        let folder = ["--netboot-images", &folder];
        let all: Vec<&str> = folder.into_iter().chain(options.iter().copied()).collect();
        let own = assets();
        let added: Vec<&Path> =
            std::iter::once(own.as_path()).chain(more.iter().map(|path| Path::new(*path))).collect();
        Server::start(lab, &added, &all).await
    }

    /// Creates the machine for `host-NUMBER` (0 to 9), switched off, with an empty disk.
    ///
    /// # Errors
    /// The errors of [`Machine::new`].
    pub async fn machine(&self, number: u8, firmware: Firmware) -> Result<Machine> {
        Machine::new(&self.lab, Self::design(number, firmware)).await
    }

    /// Returns the configuration of [`Scenario::machine`].
    pub fn design(number: u8, firmware: Firmware) -> Design {
        Design {
            name: format!("host-{number}"),
            mac: format!("52:54:00:00:00:1{number}"),
            firmware,
            processors: 1,
            memory: 1024,
            disk: 8 << 30,
            disk_speed: None,
            is_far: false,
            loses_dhcp: false,
            more: String::new(),
        }
    }

    /// Creates a Secret.
    ///
    /// # Errors
    /// Returns the server's refusal.
    pub async fn secret(&self, name: &str, data: Value) -> Result<()> {
        let metadata = json!({"name": name, "namespace": NAMESPACE});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data});
        self.server.apply(&secret).await
    }

    /// Returns a host without a BMC for `machine`, which a person switches.
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

    /// Returns a host for `machine` that is switched by `bmc`, and creates the Secret with its credentials.
    ///
    /// # Errors
    /// Returns the server's refusal of the Secret.
    pub async fn host_with_bmc(&self, machine: &Machine, bmc: Value) -> Result<Value> {
        self.secret("bmc", json!({"username": "admin", "password": "correct horse"})).await?;
        let mut host = Self::host(machine);
        host["metadata"]["annotations"] = json!({});
        host["spec"]["bmc"] = bmc;
        host["spec"]["bmc"]["credentialsName"] = "bmc".into();
        Ok(host)
    }

    /// Deletes the host and waits until it is gone; then the machine's disk must be empty.
    ///
    /// # Errors
    /// The errors of [`Scenario::wait`]; fails if the disk is not empty.
    pub async fn delete(&self, deadline: Duration, on: (&Value, &Machine)) -> Result<()> {
        self.server.delete(on.0).await?;
        self.wait("the host is gone", deadline, on, Value::is_null).await?;
        ensure!(!starts_with_partitions(on.1)?, "nothing is left on the disk");
        Ok(())
    }

    /// Waits until `condition` holds for the host.
    ///
    /// # Errors
    /// Fails with the host, the machine's console and the server's log if it does not hold within `deadline`.
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

    /// Waits for a provisioning state of the host.
    ///
    /// # Errors
    /// The errors of [`Scenario::wait`].
    pub async fn state(&self, state: &str, deadline: Duration, on: (&Value, &Machine)) -> Result<Value> {
        self.wait(state, deadline, on, |host| host["status"]["provisioning"]["state"] == state).await
    }

    /// Waits until the console shows `text`.
    ///
    /// # Errors
    /// Fails with the console if it does not within `deadline`.
    pub async fn console(&self, text: &str, deadline: Duration, machine: &Machine) -> Result<()> {
        let waited =
            until(text, deadline, || async { machine.console().text().contains(text).then_some(()) });
        waited.await.map_err(|error| anyhow!("{error}\n--- the console\n{}", machine.console().tail()))
    }
}

/// Returns whether the host asks a person to do something.
pub fn is_asked(host: &Value) -> bool {
    let conditions = host["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|known| known["type"] == "WaitingForOperator" && known["status"] == "True")
}

/// Returns the last lines of a text.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Returns whether the disk has the signature of a partition table, at either of its two places.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn starts_with_partitions(machine: &Machine) -> Result<bool> {
    use std::io::Read as _;
    let mut start = vec![0; 1024];
    std::fs::File::open(machine.disk())?.read_exact(&mut start)?;
    Ok(start[510..512] == [0x55, 0xaa] || &start[512..520] == b"EFI PART")
}
