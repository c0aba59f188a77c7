//! Upstream's quick start with a ClusterClass: the class and the Cluster of the flavor `development` of their Docker provider. Their machines mount
//! Docker's socket, which a machine without Docker does not have; that alone is taken out.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use tokio::process::Command;

use crate::images::{Images, firstlight};
use crate::machines;
use crate::run::{run, until};
use crate::stage::{CHANGE, CLUSTER, Stage, UP, says};

/// The files of upstream.
const CLASS: &str = "clusterclass-quick-start.yaml";
const TEMPLATE: &str = "cluster-template-development.yaml";
/// The mount of Docker's socket in both templates of machines.
const SOCKET: &str = r#"
          extraMounts:
          - containerPath: "/var/run/docker.sock"
            hostPath: "/var/run/docker.sock"
"#;
/// Installs a network of Pods, as users of the quick start do once the cluster answers. The ranges are those of the template. A kubelet that runs tells
/// containerd the range of its node only when it starts again.
const NETWORK: &str = r"printf 'PODS=192.168.0.0/16\nSERVICES=10.128.0.0/12\n' > /etc/default/pods-network
systemctl is-active --quiet node-pods-network || { systemctl start node-pods-network && systemctl restart kubelet; }";

/// Plays the quick start.
///
/// # Errors
/// A step fails.
pub async fn play(stage: &mut Stage<'_>) -> Result<()> {
    let (old, new) = (stage.images.older(), stage.images.newer());
    stage.up(&manifests(stage.images, old).await?, &[]).await?;
    let (management, server) = (stage.server.kubectl(), &stage.server);
    let cluster = until("the kubeconfig of the cluster", UP, async || server.cluster(CLUSTER).await).await?;
    until("two Nodes", UP, async || machines::nodes(&cluster, 2).await).await?;
    stage.steps.done("1 + 1 Nodes")?;
    install_network(stage, &machines::names(&management).await?).await?;
    machines::wait(&management, &cluster, 2, old, CHANGE).await?;
    says(&management, "cluster/local", "Available", "True", "", UP).await?;
    stage.steps.done("the Cluster is Available")?;
    let patch = format!(r#"[{{"op":"replace","path":"/spec/topology/version","value":"{new}"}}]"#);
    management.run(&format!("patch cluster local --type json -p {patch}")).await?;
    until("each machine has the newer version", CHANGE, async || {
        // A machine waits for its network, and the next one for that machine.
        install_network(stage, &machines::names(&management).await?).await.ok();
        machines::wait(&management, &cluster, 2, new, std::time::Duration::ZERO).await
    })
    .await?;
    stage.steps.done(&format!("all machines have {new} instead of {old}"))?;
    stage.end().await
}

/// Returns the class and a Cluster of it with one control plane and one worker.
async fn manifests(images: &Images, version: &str) -> Result<String> {
    let class = std::fs::read_to_string(sample(images, CLASS)?)?;
    ensure!(class.matches(SOCKET).count() == 2, "{CLASS} mounts Docker's socket in other places");
    let mut generate = Command::new(firstlight()?);
    generate.args(["generate", "cluster", CLUSTER, "--from"]).arg(sample(images, TEMPLATE)?);
    generate.args(["--kubernetes-version", version, "--target-namespace", "default"]);
    generate.args(["--control-plane-machine-count", "1", "--worker-machine-count", "1"]);
    let cluster = run(&mut generate, b"", UP).await?;
    Ok(format!("{}\n---\n{cluster}", class.replace(SOCKET, " {}\n")))
}

fn sample(images: &Images, name: &str) -> Result<PathBuf> {
    let path = images.folder().parent().unwrap_or(Path::new("/")).join("samples").join(name);
    ensure!(path.exists(), "{} is missing: run tests/nodes/install-tools", path.display());
    Ok(path)
}

async fn install_network(stage: &Stage<'_>, nodes: &[String]) -> Result<()> {
    for node in nodes {
        let installed = stage.server.in_node(node, &["sh", "-c", NETWORK]).await;
        installed.with_context(|| format!("the network of Pods in {node}"))?;
    }
    Ok(())
}
