//! The pivot at the end of `up`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use machinery::clock::Clock;
use pivot::journal::FileDisk;
use pivot::{Journal, Options};
use pki::kubeconfig::Kubeconfig;
use schemas::infrastructure::DevCluster;
use serde_json::Value;
use server::backup::JOURNAL;
use server::data_directory::{DataDirectory, write_private};
use server::{image, nodes};

use super::UpOptions;
use crate::commands::pivot::{address, assemble, connect, install_first};
use crate::handed_over;
use crate::install::other_controllers;
use crate::output::{say, tell};

/// The value of `--pivot-to` for the cluster that `up` brings up.
pub const ITSELF: &str = "self";

/// Returns whether everything moves into the cluster that `up` brings up.
pub(super) fn is_itself(target: &Path) -> bool {
    target.as_os_str() == ITSELF
}

/// Returns the kubeconfig of the target; `None` if the target is the cluster that `up` brings up, and that is not known yet.
///
/// # Errors
/// The kubeconfig that was kept of this cluster would run a command or read a file.
pub fn known_target(target: &Path, folder: &Path) -> Result<Option<PathBuf>> {
    if !is_itself(target) {
        return Ok(Some(target.to_owned()));
    }
    let path = folder.join(handed_over::TARGET);
    match std::fs::read_to_string(&path) {
        Ok(kept) => {
            Kubeconfig::parse(&kept).with_context(|| path.display().to_string())?;
            Ok(Some(path))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Writes the kubeconfig of the only cluster to the data directory `folder`, and returns its path. What is written is what was understood:
/// inline credentials, because whoever may write the Secret must not run commands as this user.
///
/// # Errors
/// There is not exactly one Cluster, or its kubeconfig is missing or refused.
pub async fn write_target(clusters: &[Value], client: Client, folder: &Path) -> Result<PathBuf> {
    let name =
        |cluster: &Value, field: &str| cluster["metadata"][field].as_str().unwrap_or_default().to_owned();
    let [cluster] = clusters else {
        let names: Vec<String> =
            clusters.iter().map(|one| format!("{}/{}", name(one, "namespace"), name(one, "name"))).collect();
        bail!(
            "--pivot-to {ITSELF} needs exactly one Cluster, and there are {} ({}): name a kubeconfig",
            names.len(),
            names.join(", ")
        );
    };
    refuse_simulated(cluster, infrastructure(cluster, &client).await?.as_ref())?;
    let (namespace, secret) = (name(cluster, "namespace"), format!("{}-kubeconfig", name(cluster, "name")));
    let secrets: Api<Secret> = Api::namespaced(client, &namespace);
    let found = secrets.get(&secret).await.with_context(|| format!("Secret {namespace}/{secret}"))?;
    let value = found.data.and_then(|mut data| data.remove("value"));
    let value = value.with_context(|| format!("Secret {namespace}/{secret} has no key \"value\""))?;
    let text = String::from_utf8(value.0).with_context(|| format!("Secret {namespace}/{secret}"))?;
    let kubeconfig = Kubeconfig::parse(&text).with_context(|| format!("Secret {namespace}/{secret}"))?;
    let path = folder.join(handed_over::TARGET);
    write_private(&path, kubeconfig.to_yaml()?.as_bytes())?;
    Ok(path)
}

/// Fails early if the manifests have no Cluster that `--pivot-to self` can move into: several of them, or one of simulated machines.
pub fn check_manifests<'a>(objects: impl Iterator<Item = &'a Value>) -> Result<()> {
    let (clusters, others): (Vec<&Value>, Vec<&Value>) =
        objects.partition(|object| object["kind"] == "Cluster");
    let count = clusters.len();
    ensure!(
        count < 2,
        "--pivot-to {ITSELF} needs exactly one Cluster, and the manifests have {count}: name a kubeconfig"
    );
    clusters.iter().try_for_each(|cluster| {
        let reference = &cluster["spec"]["infrastructureRef"];
        let is_named = |other: &&&Value| {
            other["kind"] == reference["kind"] && other["metadata"]["name"] == reference["name"]
        };
        refuse_simulated(cluster, others.iter().find(is_named).copied())
    })
}

/// Returns the DevCluster of a Cluster.
async fn infrastructure(cluster: &Value, client: &Client) -> Result<Option<Value>> {
    let reference = &cluster["spec"]["infrastructureRef"];
    let (Some(name), true) = (reference["name"].as_str(), reference["kind"] == DevCluster::KIND) else {
        return Ok(None);
    };
    let namespace = cluster["metadata"]["namespace"].as_str().unwrap_or_default();
    let found: Option<DevCluster> = Api::namespaced(client.clone(), namespace).get_opt(name).await?;
    Ok(found.map(serde_json::to_value).transpose()?)
}

/// Fails for a cluster of simulated machines, whose API server is in this process and ends with it.
fn refuse_simulated(cluster: &Value, infrastructure: Option<&Value>) -> Result<()> {
    ensure!(
        infrastructure.is_none_or(|found| found["spec"]["backend"]["inMemory"].is_null()),
        "--pivot-to {ITSELF}: Cluster {} is simulated by this process, and would end with it: name the kubeconfig of another server",
        cluster["metadata"]["name"]
    );
    Ok(())
}

/// The pivot: from the server of this process to another one.
pub(super) struct AfterUp {
    from: Client,
    to: Client,
    called: String,
    kubeconfig: PathBuf,
    journal: PathBuf,
}

/// The state of such a pivot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The pivot has not begun.
    New,
    /// The pivot was interrupted.
    Interrupted,
    /// The target has all objects.
    Done,
}

impl AfterUp {
    /// Returns the pivot from `from`, whose data directory is `folder`, to the cluster of a kubeconfig.
    pub(super) async fn new(from: Client, folder: &Path, to: &Path) -> Result<Self> {
        let called = address(to, None).await?;
        let journal = folder.join(JOURNAL);
        Ok(Self { from, to: connect(to, None).await?, called, kubeconfig: to.to_owned(), journal })
    }

    fn journal(&self) -> Result<Journal> {
        let failed = || format!("cannot open the journal {}", self.journal.display());
        Ok(Journal::open(Box::new(FileDisk::open(&self.journal).with_context(failed)?))?)
    }

    /// Returns the state in the journal. The journal of a pivot to another target is ignored if that pivot was rolled back.
    pub(super) async fn stage(&self) -> Result<Stage> {
        let journal = self.journal()?;
        let state = journal.state();
        let Some(header) = &state.header else { return Ok(Stage::New) };
        if !state.ended() {
            return Ok(Stage::Interrupted);
        }
        if !state.done {
            return Ok(Stage::New);
        }
        let target = pivot::Server::new("target", self.to.clone(), Clock::system()).identity().await?;
        if header.target != target {
            handed_over::refuse(&self.journal)?;
            return Ok(Stage::New);
        }
        Ok(Stage::Done)
    }

    /// Runs or resumes the pivot. Into the management cluster itself, firstlight is installed unless other controllers are there.
    pub(super) async fn run(&self, stage: Stage, options: &UpOptions) -> Result<()> {
        let mut install = options.install.clone();
        let itself = options.pivot_to.as_deref().is_some_and(is_itself);
        if itself {
            install.install = other_controllers(&self.to).await?.is_none();
        }
        let install = &install;
        if itself && install.install {
            load_itself(self.journal.parent().unwrap_or(Path::new(".")), options).await?;
        }
        let left = install_first(install, self.journal.parent(), [&self.from, &self.to], false).await?;
        let pivot = assemble(self.from.clone(), self.to.clone(), self.journal()?, Options::default());
        let pivot = pivot.target_called(&self.called);
        let report = match stage {
            Stage::Interrupted => pivot.resume().await?,
            Stage::New | Stage::Done => pivot.run().await?,
        };
        say(&format!("{report}{left}"))?;
        if itself {
            let kubeconfig = self.kubeconfig.display();
            say(&format!("The cluster manages itself now:\n  export KUBECONFIG={kubeconfig}\n"))?;
        }
        Ok(())
    }
}

/// Imports the image of this program into the nodes of a data directory, if it has any: no registry has that image.
///
/// # Errors
/// The image cannot be made, or a node refuses it.
async fn load_itself(folder: &Path, options: &UpOptions) -> Result<()> {
    let reference = options.install.reference()?;
    if !nodes::are_in(folder) || reference != image::default_reference() {
        return Ok(());
    }
    let directory = DataDirectory::locate(Some(folder))?;
    let settings = nodes::Settings::new(&directory, &options.server.nodes, &[], None);
    settings
        .load(&[reference], None, |line| {
            tell(line.trim_end());
            Ok(())
        })
        .await
}
