//! A stand-in for `kubeadm init`.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::{AS, api_server, configuration};

/// Time within which kube-apiserver must answer.
const START: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(200);

/// Checks the configuration and the certificates, and starts the control plane.
///
/// # Errors
/// Says what is wrong with them.
pub fn run(file: &Path) -> Result<()> {
    let documents = configuration::documents(file)?;
    let cluster = documents.get("ClusterConfiguration").context("there is no ClusterConfiguration")?;
    let init = documents.get("InitConfiguration").context("there is no InitConfiguration")?;
    for field in ["kubernetesVersion", "controlPlaneEndpoint", "clusterName"] {
        ensure!(
            cluster[field].as_str().is_some_and(|text| !text.is_empty()),
            "ClusterConfiguration.{field} is missing"
        );
    }
    configuration::kubelet(init)?;
    api_server::authorities()?;
    api_server::token_keys()?;
    let console = || std::fs::OpenOptions::new().write(true).open("/dev/console");
    let mut child = Command::new(std::env::current_exe()?)
        .args([AS, "kube-apiserver"])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(console()?)
        .stderr(console()?)
        .spawn()?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, api_server::PORT));
    let attempts = START.as_millis() / LOOK.as_millis();
    for _ in 0..attempts {
        if let Some(status) = child.try_wait()? {
            bail!("kube-apiserver ended: {status}");
        }
        if TcpStream::connect(address).is_ok() {
            return super::cloud_init::say("Your Kubernetes control-plane has initialized successfully!");
        }
        // It runs outside of the simulation, in a machine whose only clock is its own.
        #[expect(clippy::disallowed_methods, reason = "a program of a virtual machine")]
        sleep(LOOK);
    }
    bail!("kube-apiserver does not answer within {START:?}")
}
