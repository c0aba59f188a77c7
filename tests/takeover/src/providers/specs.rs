//! Those specs of upstream's end-to-end suite that need no container runtime, played by upstream's own program with its own manifests. The
//! management cluster is a server of ours, in which upstream's providers run as processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::process::Command;

use super::repository::{self, EXTENSION, PROVIDERS, Provider};
use super::site::Site;
use crate::output::say;

/// Parts of the names of the specs, as Ginkgo's regular expressions.
const SPECS: [&str; 3] =
    ["When testing ClusterClass changes", "When testing ClusterClass rollouts", "using in-memory backend"];
/// Those which a run by name plays by default. The one about scale takes longest.
const SHORT: usize = 2;
/// The variables of the suite and of its templates, the feature gates of the providers first.
const VARIABLES: [(&str, &str); 16] = [
    ("CLUSTER_TOPOLOGY", "true"),
    ("EXP_MACHINE_TAINT_PROPAGATION", "true"),
    ("EXP_RUNTIME_SDK", "true"),
    ("EXP_MACHINE_POOL", "true"),
    ("EXP_IN_PLACE_UPDATES", "true"),
    ("KUBERNETES_VERSION", "v1.36.0"),
    ("KUBERNETES_VERSION_MANAGEMENT", "v1.36.0"),
    ("KUBERNETES_VERSION_UPGRADE_FROM", "v1.35.0"),
    ("KUBERNETES_VERSION_UPGRADE_TO", "v1.36.0"),
    ("ETCD_VERSION_UPGRADE_TO", "3.6.6-0"),
    ("COREDNS_VERSION_UPGRADE_TO", "v1.13.1"),
    ("DOCKER_SERVICE_DOMAIN", "cluster.local"),
    ("DOCKER_SERVICE_CIDRS", "10.128.0.0/12"),
    ("DOCKER_POD_CIDRS", "192.168.0.0/16"),
    ("IP_FAMILY", "IPv4"),
    ("CNI", ""),
];

/// Installs the providers and plays the specs, all of them with `all`.
///
/// # Errors
/// A spec fails; the error says where its artifacts are.
pub async fn run(binary: &Path, tools: &Path, folder: &Path, all: bool) -> Result<()> {
    let mut providers = PROVIDERS.to_vec();
    for provider in providers.iter_mut().filter(|provider| provider.name == "docker") {
        // The same provider, with the templates of the specs.
        provider.tools = "specs";
    }
    providers.push(EXTENSION);
    let configuration = repository::configure(tools, folder, &providers, &VARIABLES)?;
    let images = repository::images(tools, folder, &providers)?;
    let images = images.to_str().context("a path that is text")?;
    let options = ["--controllers", "pods", "--container-images", images];
    let site = Site::start(binary, &configuration, folder, "specs", &options).await?;
    site.install(&providers, &["--wait-providers"]).await?;
    let suite = folder.join("suite.yaml");
    fs::write(&suite, suite_configuration(tools, &providers).to_string())?;
    let specs = if all { &SPECS[..] } else { &SPECS[..SHORT] };
    for spec in specs {
        play(spec, &site, tools, &configuration, &suite, folder).await?;
        say(&format!("passed: {spec}"))?;
    }
    Ok(())
}

async fn play(
    spec: &str,
    site: &Site,
    tools: &Path,
    configuration: &Path,
    suite: &Path,
    folder: &Path,
) -> Result<()> {
    let artifacts: PathBuf = folder.join("artifacts");
    let option = |name: &str, path: &Path| format!("-e2e.{name}={}", path.display());
    let mut command = Command::new(tools.join("cluster-api/e2e"));
    command.arg(format!("-ginkgo.focus={spec}")).args([
        "-ginkgo.v",
        "-ginkgo.no-color",
        "-e2e.use-existing-cluster",
    ]);
    command.arg(option("config", suite)).arg(option("clusterctl-config", configuration));
    command.arg(option("artifacts-folder", &artifacts));
    command.env("KUBECONFIG", site.server.kubeconfig()).current_dir(folder).kill_on_drop(true);
    let output = command.output().await.context("tests/takeover/install-tools specs makes it")?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    fs::write(folder.join("suite.log"), &printed)?;
    // A focus that fits no spec passes, too.
    let has_run = printed.contains("Ran 1 of ");
    let passed = output.status.success() && has_run;
    let end: Vec<&str> = printed.lines().rev().take(60).collect();
    let end: Vec<&str> = end.into_iter().rev().collect();
    ensure!(passed, "{spec} failed; its artifacts are in {}\n{}", artifacts.display(), end.join("\n"));
    Ok(())
}

/// The configuration of the suite. Upstream's own has intervals for real machines.
fn suite_configuration(tools: &Path, providers: &[Provider]) -> Value {
    let entry = |provider: &Provider| {
        let version = json!({"name": provider.version, "type": "url", "value": provider.url(tools), "contract": "v1beta2"});
        json!({"name": provider.name, "type": provider.kind, "versions": [version]})
    };
    let providers: Vec<Value> = providers.iter().map(entry).collect();
    let variables: BTreeMap<_, _> = VARIABLES.into_iter().collect();
    json!({
        "managementClusterName": "firstlight",
        "providers": providers,
        "variables": variables,
        "intervals": {
            "default/wait-controllers": ["4m", "1s"],
            "default/wait-cluster": ["5m", "1s"],
            "default/wait-control-plane": ["10m", "1s"],
            "default/wait-worker-nodes": ["5m", "1s"],
            "default/wait-delete-cluster": ["3m", "1s"],
            "default/wait-machine-upgrade": ["10m", "1s"],
            "default/wait-control-plane-upgrade": ["10m", "1s"],
            "default/wait-machine-deployment-upgrade": ["10m", "1s"],
            "default/wait-nodes-ready": ["10m", "1s"],
            "default/wait-resource-versions-become-stable": ["2m", "5s"],
            "default/wait-resource-versions-remain-stable": ["20s", "5s"],
        },
    })
}
