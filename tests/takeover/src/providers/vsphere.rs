//! vSphere's provider, unmodified, as a process of a server whose other controllers are ours, against govmomi's simulated vCenter: a
//! cluster of the provider's own template gets its infrastructure, and gives it back.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use netboot_tests::server::Objects;
use netboot_tests::wait::until;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::cluster::Manifests;
use super::repository::{self, VSPHERE};
use super::site::Site;
use crate::output::say;

/// Our controllers. The provider is a process beside them.
const CONTROLLERS: &str = "core,kubeadm-bootstrap,kubeadm-control-plane,addons,pods";
/// The cluster, from the provider's template.
const CLUSTER: [&str; 7] = [
    "generate",
    "cluster",
    "first",
    "--infrastructure=vsphere",
    "--kubernetes-version=v1.33.0",
    "--control-plane-machine-count=1",
    "--target-namespace=default",
];
/// The variables of the template. The names are those of the inventory that the simulator comes with.
const VARIABLES: [(&str, &str); 15] = [
    ("VSPHERE_USERNAME", "user"),
    ("VSPHERE_PASSWORD", "pass"),
    ("VSPHERE_DATACENTER", "DC0"),
    ("VSPHERE_DATASTORE", "LocalDS_0"),
    ("VSPHERE_NETWORK", "VM Network"),
    ("VSPHERE_RESOURCE_POOL", "/DC0/host/DC0_C0/Resources"),
    ("VSPHERE_FOLDER", "/DC0/vm"),
    ("VSPHERE_TEMPLATE", "DC0_H0_VM0"),
    ("VSPHERE_STORAGE_POLICY", ""),
    ("VSPHERE_SSH_AUTHORIZED_KEY", "ssh-ed25519 none"),
    ("VIP_NETWORK_INTERFACE", "eth0"),
    ("CONTROL_PLANE_ENDPOINT_IP", "192.0.2.2"),
    ("CPI_IMAGE_K8S_VERSION", "v1.33.0"),
    ("CLUSTER_TOPOLOGY", "true"),
    ("WORKER_MACHINE_COUNT", "0"),
];
/// The time for each step. The provider asks its tasks every few seconds.
const STEP: Duration = Duration::from_secs(180);

/// Installs the provider, creates a cluster until its first machine has its infrastructure, and deletes it.
///
/// # Errors
/// A step fails.
pub async fn run(binary: &Path, tools: &Path, folder: &Path) -> Result<()> {
    let center = Center::start(tools).await?;
    let address = center.address.to_string();
    let mut variables = VARIABLES.to_vec();
    variables.extend([("VSPHERE_SERVER", address.as_str()), ("VSPHERE_TLS_THUMBPRINT", &center.thumbprint)]);
    let providers = [VSPHERE];
    let configuration = repository::configure(tools, folder, &providers, &variables)?;
    let images = repository::images(tools, folder, &providers)?;
    let images = images.to_str().context("a path that is text")?;
    let options = ["--controllers", CONTROLLERS, "--container-images", images];
    let site = Site::start(binary, &configuration, folder, "vsphere", &options).await?;
    let took = site.install(&providers, &["--wait-providers"]).await?;
    say(&format!("init of vSphere's provider until it is available: {:.1} s", took.as_secs_f64()))?;
    let manifests = Manifests::parse(&site.run(&CLUSTER).await?.0)?;
    let lived = live(&site.objects, &manifests).await;
    lived.with_context(|| site.server.log())
}

async fn live(objects: &Objects, manifests: &Manifests) -> Result<()> {
    for object in &manifests.objects {
        objects.apply(object).await.with_context(|| format!("{} is refused", object["kind"]))?;
    }
    let machine = until("the first machine has its infrastructure", STEP, || provisioned(objects)).await??;
    let identifier = machine["spec"]["providerID"].as_str().unwrap_or_default();
    ensure!(identifier.starts_with("vsphere://"), "{machine}");
    say(&format!("{} is {identifier}", machine["metadata"]["name"]))?;
    objects.delete(&named("cluster.x-k8s.io/v1beta2", "Cluster", &manifests.name)).await?;
    until("the cluster and its virtual machine are gone", STEP, || async {
        for like in [
            named("cluster.x-k8s.io/v1beta2", "Cluster", ""),
            named("infrastructure.cluster.x-k8s.io/v1beta1", "VSphereVM", ""),
        ] {
            match objects.list(&like).await {
                Ok(found) if found.is_empty() => {}
                Ok(_) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(()))
    })
    .await??;
    say("the cluster is deleted, and its virtual machine with it")
}

/// Returns the Machine of the control plane if it is provisioned and has addresses.
async fn provisioned(objects: &Objects) -> Option<Result<Value>> {
    let found = objects.list(&named("cluster.x-k8s.io/v1beta2", "Machine", "")).await;
    let machine = match found {
        Ok(found) => found.into_iter().next()?,
        Err(error) => return Some(Err(error)),
    };
    let status = &machine["status"];
    let has_address = status["addresses"].as_array().is_some_and(|addresses| !addresses.is_empty());
    let is_provisioned = status["initialization"]["infrastructureProvisioned"] == true;
    (is_provisioned && has_address).then_some(Ok(machine))
}

fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": "default", "name": name}})
}

/// A simulated vCenter, which ends with the test.
struct Center {
    address: SocketAddr,
    thumbprint: String,
    _process: Child,
}

impl Center {
    /// Starts it at an address that Pods reach, which loopback is not.
    async fn start(tools: &Path) -> Result<Self> {
        let address = SocketAddr::new(own_address()?, 0);
        let address = std::net::TcpListener::bind(address)?.local_addr()?;
        let mut command = Command::new(tools.join("vsphere/simulator"));
        command.arg(address.to_string()).kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Go's TLS logs each connection of a client that then trusts the certificate by its thumbprint.
        command.stderr(Stdio::null());
        let started = command.spawn();
        let mut process = started.context("tests/takeover/install-tools vsphere makes the simulator")?;
        let output = process.stdout.take().context("no output")?;
        let mut thumbprint = String::new();
        BufReader::new(output).read_line(&mut thumbprint).await?;
        ensure!(!thumbprint.is_empty(), "the simulator has ended");
        Ok(Self { address, thumbprint: thumbprint.trim().to_owned(), _process: process })
    }
}

/// Returns the address from which this machine reaches others. Nothing is sent.
fn own_address() -> Result<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect("192.0.2.1:9").context("the machine has no route")?;
    Ok(socket.local_addr()?.ip())
}
