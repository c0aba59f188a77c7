//! The cluster of the scenarios: that of `examples/local-cluster.yaml`, with what each needs besides.

use anyhow::{Result, ensure};

const EXAMPLE: &str = include_str!("../../../examples/local-cluster.yaml");
/// The version in the example.
const VERSION: &str = "version: v1.36.1";
/// A worker without a Node that is Ready is replaced.
const HEALTH: &str = r#"---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata:
  name: local-workers
  namespace: default
spec:
  clusterName: local
  selector:
    matchLabels:
      pool: local-workers
  checks:
    nodeStartupTimeoutSeconds: 120
    unhealthyNodeConditions:
    - {type: Ready, status: Unknown, timeoutSeconds: 5}
    - {type: Ready, status: "False", timeoutSeconds: 60}
"#;
/// The time after which a Node that says nothing is Unknown: 50 s otherwise.
const GRACE: &str = "encryptionAlgorithm: ECDSA-P256
      controllerManager:
        extraArgs:
        - {name: node-monitor-grace-period, value: 16s}";

/// Returns the manifests of the cluster with this version, with an image for Pods, and with a health check of its workers.
///
/// # Errors
/// The example is not as the scenarios expect it.
pub fn cluster(version: &str) -> Result<String> {
    let text = replaced(&without_health(version)?, "encryptionAlgorithm: ECDSA-P256", GRACE)?;
    Ok(format!("{}{HEALTH}", machines(&text, &format!("preLoadImages: [{}]", node_programs::WEB))?))
}

/// Returns the example with this version.
///
/// # Errors
/// Those of [`cluster`].
pub fn without_health(version: &str) -> Result<String> {
    replaced(EXAMPLE, VERSION, &format!("version: {version}"))
}

/// Returns the example with three control planes and three workers.
///
/// # Errors
/// Those of [`cluster`].
pub fn of_three(version: &str) -> Result<String> {
    replaced(&without_health(version)?, "  replicas: 1\n", "  replicas: 3\n")
}

/// Returns the example with another image of nodes.
///
/// # Errors
/// Those of [`cluster`].
pub fn with_image(version: &str, image: &str) -> Result<String> {
    machines(&without_health(version)?, &format!("customImage: {image}"))
}

/// Returns the example with a command before kubeadm on the control plane.
///
/// # Errors
/// Those of [`cluster`].
pub fn with_command(version: &str, command: &str) -> Result<String> {
    let (from, to) =
        ("  kubeadmConfigSpec:\n", format!("  kubeadmConfigSpec:\n    preKubeadmCommands: [{command}]\n"));
    replaced(&without_health(version)?, from, &to)
}

/// Returns the manifests with this field in the template of machines.
fn machines(text: &str, field: &str) -> Result<String> {
    // The last one: the first is that of the DevCluster.
    let (before, after) = text.rsplit_once("docker: {}\n").unwrap_or_default();
    ensure!(!before.is_empty(), "the example has no template of machines");
    Ok(format!("{before}docker:\n          {field}\n{after}"))
}

fn replaced(text: &str, from: &str, to: &str) -> Result<String> {
    ensure!(text.contains(from), "the example has no {from:?}");
    Ok(text.replace(from, to))
}
