//! Upstream's programs for bare metal: baremetal-operator, and Ironic with its database in a file.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use netboot_tests::wait::until;
use serde_json::Value;
use tokio::process::Command;

use super::webhook::Webhook;
use crate::program::{Program, START};

/// The version of Ironic's API of which the answers are.
const API_VERSION: &str = "1.95";

/// A running Ironic: API and conductor in one process, without authentication.
pub struct Ironic {
    /// The process.
    pub program: Program,
    /// The address of its API.
    pub address: String,
}

impl Ironic {
    /// Starts Ironic with an empty database in `folder`.
    ///
    /// # Errors
    /// It does not start within two minutes.
    pub async fn start(tools: &Path, folder: &Path) -> Result<Self> {
        for name in ["http", "tftp", "images", "master", "lock"] {
            fs::create_dir_all(folder.join("ironic").join(name))?;
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let configuration = folder.join("ironic.conf");
        fs::write(&configuration, configuration_of(&folder.join("ironic"), port))?;
        let programs = tools.join("ironic/bin");
        let argument = |program: &str| {
            let mut command = Command::new(programs.join(program));
            command.arg("--config-file").arg(&configuration);
            command
        };
        let made = argument("ironic-dbsync").arg("create_schema").current_dir(folder).output().await;
        let made = made.context("ironic-dbsync cannot be run; tests/takeover/install-tools gets it")?;
        ensure!(made.status.success(), "ironic-dbsync: {}", String::from_utf8_lossy(&made.stderr));
        let program = Program::start("ironic", &mut argument("ironic"), folder)?;
        let mut started = Self { program, address: format!("http://127.0.0.1:{port}") };
        // The conductor registers its drivers last.
        let Self { program, address } = &mut started;
        let address = address.as_str();
        until("Ironic is ready", START, || {
            let runs = program.must_run();
            async move {
                if let Err(error) = runs {
                    return Some(Err(error));
                }
                let drivers = get(address, "/v1/drivers").await.ok()?;
                drivers["drivers"].as_array().is_some_and(|all| !all.is_empty()).then_some(Ok(()))
            }
        })
        .await??;
        Ok(started)
    }

    /// Reads a path of the API.
    ///
    /// # Errors
    /// It does not answer with JSON.
    pub async fn get(&self, path: &str) -> Result<Value> {
        get(&self.address, path).await
    }
}

async fn get(address: &str, path: &str) -> Result<Value> {
    let header = format!("X-OpenStack-Ironic-API-Version: {API_VERSION}");
    let url = format!("{address}{path}");
    let answer = Command::new("curl").args(["-sS", "-f", "-m", "10", "-H", &header, &url]).output().await?;
    ensure!(answer.status.success(), "{url}: {}", String::from_utf8_lossy(&answer.stderr));
    Ok(serde_json::from_slice(&answer.stdout)?)
}

/// The configuration of an Ironic with the interfaces that baremetal-operator asks for. Powers are compared every 10 s, so that a wrong
/// one would be set soon.
fn configuration_of(state: &Path, port: u16) -> String {
    let state = state.display();
    format!(
        "[DEFAULT]
auth_strategy = noauth
enabled_hardware_types = redfish
enabled_bios_interfaces = no-bios,redfish
enabled_boot_interfaces = ipxe,redfish-virtual-media
default_boot_interface = ipxe
enabled_deploy_interfaces = direct,ramdisk,custom-agent
enabled_firmware_interfaces = no-firmware,redfish
enabled_inspect_interfaces = agent,redfish,no-inspect
default_inspect_interface = agent
enabled_management_interfaces = redfish
enabled_network_interfaces = noop
default_network_interface = noop
enabled_power_interfaces = redfish
enabled_raid_interfaces = no-raid,agent,redfish
enabled_vendor_interfaces = no-vendor,redfish
rpc_transport = none
host = takeover
my_ip = 127.0.0.1
state_path = {state}
use_stderr = true
[api]
host_ip = 127.0.0.1
port = {port}
[conductor]
automated_clean = true
sync_power_state_interval = 10
force_power_state_during_sync = true
[database]
connection = sqlite:///{state}/ironic.sqlite
[deploy]
http_root = {state}/http
http_url = http://127.0.0.1:1
[oslo_concurrency]
lock_path = {state}/lock
[pxe]
tftp_root = {state}/tftp
tftp_master_path = {state}/tftp/master
images_path = {state}/images
instance_master_path = {state}/master
"
    )
}

/// Starts baremetal-operator with its webhook server against the API server of `kubeconfig`, without leader election, and waits until the
/// webhook server listens.
///
/// # Errors
/// It cannot be run, or does not listen within two minutes.
pub async fn start_operator(
    tools: &Path,
    folder: &Path,
    kubeconfig: &Path,
    ironic: &Ironic,
    webhook: &Webhook,
) -> Result<Program> {
    let mut command = Command::new(tools.join("metal3/baremetal-operator"));
    command.args(["--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0"]);
    command.arg(format!("--webhook-port={}", webhook.port)).arg("--kubeconfig").arg(kubeconfig);
    command.env("TMPDIR", folder).env("IRONIC_ENDPOINT", format!("{}/v1/", ironic.address));
    command
        .env("DEPLOY_KERNEL_URL", "http://127.0.0.1:1/kernel")
        .env("DEPLOY_RAMDISK_URL", "http://127.0.0.1:1/ramdisk");
    let mut operator = Program::start("baremetal-operator", &mut command, folder)?;
    until("the webhook server listens", START, || {
        let runs = operator.must_run();
        async move {
            if let Err(error) = runs {
                return Some(Err(error));
            }
            tokio::net::TcpStream::connect(("127.0.0.1", webhook.port)).await.ok().map(|_| Ok(()))
        }
    })
    .await??;
    Ok(operator)
}
