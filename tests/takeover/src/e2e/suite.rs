//! Upstream's end-to-end program, with its own configuration.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use machinery::clock::Clock;
use serde_json::{Value, json};
use tokio::process::Command;

/// A server, and what the program needs beside it.
pub struct Suite<'a> {
    /// The folder with the program.
    pub tools: &'a Path,
    /// The folder for logs and artifacts.
    pub folder: &'a Path,
    /// The kubeconfig of the management cluster.
    pub kubeconfig: &'a Path,
    /// The configuration of the suite.
    pub configuration: &'a Path,
    /// clusterctl's configuration. Without one, the program writes its own, from the configuration of the suite.
    pub clusterctl: Option<&'a Path>,
    /// Whether the addresses of simulated clusters are those of this machine, and not those of upstream's Pod for them.
    pub direct: bool,
}

impl Suite<'_> {
    /// Plays the one spec with this name, and returns how long it took.
    ///
    /// # Errors
    /// It fails, or `focus` does not fit exactly one spec. The error has the end of its log.
    pub async fn play(&self, name: &str, focus: &str) -> Result<Duration> {
        let artifacts = self.folder.join("artifacts").join(name);
        let option = |name: &str, path: &Path| format!("-e2e.{name}={}", path.display());
        let mut command = Command::new(self.tools.join("cluster-api/e2e"));
        command.arg(format!("-ginkgo.focus={focus}"));
        command.args(["-ginkgo.v", "-ginkgo.no-color", "-e2e.use-existing-cluster"]);
        command.arg(option("config", self.configuration));
        command.args(self.clusterctl.map(|path| option("clusterctl-config", path)));
        command.arg(option("artifacts-folder", &artifacts));
        command.envs(self.direct.then_some(("E2E_DIRECT", "true")));
        command.env("KUBECONFIG", self.kubeconfig).current_dir(self.folder).kill_on_drop(true);
        let from = Clock::system().monotonic();
        let output = command.output().await.context("tests/takeover/install-tools makes it")?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        fs::write(self.folder.join(format!("{name}.log")), &printed)?;
        // A focus that fits no spec passes, too.
        let passed = output.status.success() && printed.contains("Ran 1 of ");
        let end: Vec<&str> = printed.lines().rev().take(60).collect();
        let end: Vec<&str> = end.into_iter().rev().collect();
        ensure!(passed, "{name} failed; its artifacts are in {}\n{}", artifacts.display(), end.join("\n"));
        Ok(from.elapsed())
    }
}

/// A provider of the configuration.
pub struct Entry {
    /// The name that clusterctl knows.
    pub name: &'static str,
    /// The type in clusterctl's configuration.
    pub kind: &'static str,
    /// The version that the server says it has.
    pub version: String,
    /// The components.
    pub components: PathBuf,
    /// Metadata and templates.
    pub files: Vec<PathBuf>,
}

/// Returns upstream's configuration with these providers. Versions, variables and time limits stay upstream's; only what it asks for each ten
/// seconds, because machines take minutes, it asks for each second.
///
/// # Errors
/// The configuration is no YAML.
pub fn configuration(upstream: &str, providers: &[Entry], cni: &Path) -> Result<Value> {
    let mut configuration: Value = serde_saphyr::from_str(upstream)?;
    configuration["images"] = json!([]);
    configuration["managementClusterName"] = "firstlight".into();
    configuration["variables"]["CNI"] = json!(cni);
    configuration["providers"] = providers.iter().map(entry).collect();
    let intervals =
        configuration["intervals"].as_object_mut().context("the configuration has no intervals")?;
    for interval in intervals.values_mut() {
        if interval[1] == "10s" {
            interval[1] = "1s".into();
        }
    }
    Ok(configuration)
}

fn entry(Entry { name, kind, version, components, files }: &Entry) -> Value {
    let files: Vec<Value> = files.iter().map(|file| json!({"sourcePath": file})).collect();
    let version =
        json!({"name": version, "type": "url", "value": components, "contract": "v1beta2", "files": files});
    json!({"name": name, "type": kind, "versions": [version]})
}
