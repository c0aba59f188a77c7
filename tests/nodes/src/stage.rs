//! What scenarios with a server share: its cluster comes up, an error has the state of everything, and the machine is as before.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use futures::future::LocalBoxFuture;
use serde_json::Value;

use crate::images::Images;
use crate::kubectl::Kubectl;
use crate::machine::Machine;
use crate::machines;
use crate::run::{last_lines, until};
use crate::server::Server;
use crate::steps::Steps;

/// The name of the cluster in the example.
pub const CLUSTER: &str = "local";
/// The longest time until the cluster is there, and until it has another size, another version, a new machine, or is gone.
pub const UP: Duration = Duration::from_secs(240);
pub const CHANGE: Duration = Duration::from_secs(300);
/// What an error shows of the management cluster, and of the cluster.
const MANAGEMENT: [&str; 3] = [
    "get clusters,kubeadmcontrolplanes,machinedeployments,machines,devclusters,devmachines -A -o wide",
    "describe devclusters,devmachines -A",
    "get machines -A -o yaml",
];
/// What it shows of each node.
pub const STATE: &str =
    "systemctl --failed; crictl ps -a; journalctl --no-pager -n 60 -u kubelet -u node-pods-network";
const NODES: [&str; 2] = ["get nodes,pods -A -o wide", "get events -A --sort-by=.lastTimestamp"];

/// A scenario in its folder.
pub struct Stage<'a> {
    pub images: &'a Images,
    pub folder: &'a Path,
    pub server: Server,
    pub steps: Steps,
}

/// A scenario with a server.
pub type Scene = for<'a> fn(&'a mut Stage<'_>) -> LocalBoxFuture<'a, Result<()>>;

/// Plays a scenario.
///
/// # Errors
/// A step fails; the error has the state of everything. Or the machine is not as before.
pub async fn play(name: &'static str, scene: Scene, images: &Images, folder: &Path) -> Result<()> {
    let before = Machine::look(images, folder).await?;
    let server = Server::new(images, folder)?;
    let mut stage = Stage { images, folder, server, steps: Steps::new(name) };
    if let Err(error) = scene(&mut stage).await {
        return Err(anyhow!("{error:#}\n{}", stage.explained().await));
    }
    before.is(&Machine::look(images, folder).await?)
}

impl Stage<'_> {
    /// Starts the server by `up -f` with these manifests, and more arguments.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn up(&mut self, manifests: &str, arguments: &[&str]) -> Result<()> {
        let file = self.folder.join("cluster.yaml");
        std::fs::write(&file, manifests)?;
        let file = file.to_str().context("a path that is text")?;
        self.server.start(&[&["up", "-f", file], arguments].concat()).await?;
        self.steps.done("the server answers")
    }

    /// Waits for the cluster with this number of nodes.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn come_up(&self, count: usize) -> Result<(Kubectl, Kubectl)> {
        let (management, server) = (self.server.kubectl(), &self.server);
        let cluster =
            until("the kubeconfig of the cluster", UP, async || server.cluster(CLUSTER).await).await?;
        self.steps.done("the cluster has a kubeconfig")?;
        until("its Nodes", UP, async || machines::nodes(&cluster, count).await).await?;
        cluster.wait("wait node --all --for=condition=Ready", UP).await?;
        self.steps.done("all Nodes Ready")?;
        cluster.wait("--namespace kube-system rollout status deployment/coredns", UP).await?;
        self.steps.done("CoreDNS 2/2")?;
        let what = format!("cluster/{CLUSTER}");
        says(&management, &what, "Available", "True", "", UP).await?;
        self.steps.done("the Cluster is Available")?;
        Ok((management, cluster))
    }

    /// Deletes the cluster, and stops the server.
    ///
    /// # Errors
    /// The cluster stays, or the server.
    pub async fn end(&mut self) -> Result<()> {
        self.server.kubectl().wait("delete cluster --all --all-namespaces", CHANGE).await?;
        self.steps.done("everything is deleted")?;
        self.server.stop().await
    }

    /// Returns the state of everything, for an error.
    async fn explained(&self) -> String {
        let mut text = String::new();
        let (management, server) = (self.server.kubectl(), &self.server);
        for words in MANAGEMENT {
            text += &management.explain(words).await;
        }
        if let Ok(cluster) = server.cluster(CLUSTER).await {
            for words in NODES {
                text += &cluster.explain(words).await;
            }
        }
        for node in machines::names(&management).await.unwrap_or_default() {
            let said =
                server.run(&["nodes", "logs", &node]).await.unwrap_or_else(|error| format!("{error:#}"));
            text += &format!("--- console of {node}\n{}\n", last_lines(&said, 40));
            let state = server.in_node(&node, &["sh", "-c", STATE]).await;
            text += &state.unwrap_or_else(|error| format!("{error:#}"));
        }
        format!("{text}\n--- the server\n{}", server.last_words())
    }
}

/// Waits until a condition of an object has this status, and a message with this text.
///
/// # Errors
/// It does not within `limit`; the error has the condition.
pub async fn says(
    kubectl: &Kubectl,
    object: &str,
    condition: &str,
    status: &str,
    text: &str,
    limit: Duration,
) -> Result<()> {
    let what = format!("{object}: {condition} is {status} {text}");
    until(&what, limit, async || {
        let found: Value = serde_json::from_str(&kubectl.run(&format!("get {object} -o json")).await?)?;
        let conditions = found["status"]["conditions"].as_array();
        let found = conditions.into_iter().flatten().find(|found| found["type"] == condition);
        let found = found.with_context(|| format!("{object} has no condition {condition}"))?;
        let message = found["message"].as_str().unwrap_or_default();
        ensure!(found["status"] == status && message.contains(text), "{object}: {found}");
        Ok(())
    })
    .await
}
