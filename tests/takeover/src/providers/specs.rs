//! Those specs of upstream's end-to-end suite that need no container runtime, played by upstream's own program with its own manifests. The
//! management cluster is a server of ours, in which upstream's providers run as processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::repository::{self, EXTENSION, PROVIDERS, Provider};
use super::site::Site;
use crate::e2e::list::{self, Spec};
use crate::e2e::suite::Suite;
use crate::output::say;

/// The specs.
const SPECS: [&str; 3] = ["clusterclass_changes", "clusterclass_rollout", "scale"];
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
    let kubeconfig = site.server.kubeconfig();
    let (configuration, clusterctl) = (suite.as_path(), Some(configuration.as_path()));
    let suite = Suite { tools, folder, kubeconfig: &kubeconfig, configuration, clusterctl, direct: false };
    let names = if all { &SPECS[..] } else { &SPECS[..SHORT] };
    for Spec { name, focus, .. } in list::select(names)? {
        suite.play(name, focus).await?;
        say(&format!("passed: {name}"))?;
    }
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
