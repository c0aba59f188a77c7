//! The pivot at the end of `up`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use machinery::clock::Clock;
use pivot::journal::FileDisk;
use pivot::{Journal, Options};
use serde_json::Value;

use super::UpOptions;
use crate::backup::JOURNAL;
use crate::commands::pivot::{address, assemble, connect, install_first};
use crate::data_directory::write_private;
use crate::handed_over;
use crate::install::other_controllers;
use crate::output::say;

/// The value of `--pivot-to` for the cluster that `up` brings up.
pub(super) const ITSELF: &str = "self";
/// The file of the data directory with the kubeconfig of this cluster, which the source no longer has at the end of a pivot.
const KUBECONFIG: &str = "pivot-target.kubeconfig";

/// Returns whether everything moves into the cluster that `up` brings up.
pub(super) fn is_itself(target: &Path) -> bool {
    target.as_os_str() == ITSELF
}

/// Returns the kubeconfig of the target; `None` if the target is the cluster that `up` brings up, and that is not known yet.
pub(super) fn known_target(target: &Path, folder: &Path) -> Option<PathBuf> {
    if !is_itself(target) {
        return Some(target.to_owned());
    }
    Some(folder.join(KUBECONFIG)).filter(|path| path.exists())
}

/// Writes the kubeconfig of the only cluster to the data directory `folder`, and returns its path.
///
/// # Errors
/// There is not exactly one Cluster, or its kubeconfig is missing.
pub(super) async fn write_target(clusters: &[Value], client: Client, folder: &Path) -> Result<PathBuf> {
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
    refuse_simulated(cluster)?;
    let (namespace, secret) = (name(cluster, "namespace"), format!("{}-kubeconfig", name(cluster, "name")));
    let secrets: Api<Secret> = Api::namespaced(client, &namespace);
    let found = secrets.get(&secret).await.with_context(|| format!("Secret {namespace}/{secret}"))?;
    let value = found.data.and_then(|mut data| data.remove("value"));
    let value = value.with_context(|| format!("Secret {namespace}/{secret} has no key \"value\""))?;
    let path = folder.join(KUBECONFIG);
    write_private(&path, &value.0)?;
    Ok(path)
}

/// Fails early if the manifests have no Cluster that `--pivot-to self` can move into: several of them, or one of simulated machines.
pub(super) fn check_manifests<'a>(objects: impl Iterator<Item = &'a Value>) -> Result<()> {
    let clusters: Vec<&Value> = objects.filter(|object| object["kind"] == "Cluster").collect();
    let count = clusters.len();
    ensure!(
        count < 2,
        "--pivot-to {ITSELF} needs exactly one Cluster, and the manifests have {count}: name a kubeconfig"
    );
    clusters.iter().try_for_each(|cluster| refuse_simulated(cluster))
}

/// Fails for a cluster of simulated machines, whose API server is in this process and ends with it.
fn refuse_simulated(cluster: &Value) -> Result<()> {
    ensure!(
        cluster["spec"]["infrastructureRef"]["kind"] != "DevCluster",
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

#[cfg(test)]
mod tests {
    use access::User;
    use kube::api::PostParams;
    use machinery::random::Random;
    use registry::Registry;
    use serde_json::json;
    use serving::Server;
    use store::{Memory, Store};

    use super::*;

    #[test]
    fn everything_moves_into_one_real_cluster() {
        let cluster = |infrastructure: &str| json!({"kind": "Cluster", "metadata": {"name": "first"}, "spec": {"infrastructureRef": {"kind": infrastructure}}});
        let (real, simulated, other) =
            (cluster("Metal3Cluster"), cluster("DevCluster"), json!({"kind": "Secret"}));
        let refusal = |objects: &[&Value]| {
            check_manifests(objects.iter().copied()).err().map_or(String::new(), |error| error.to_string())
        };
        assert_eq!(refusal(&[&real, &other]), "");
        assert_eq!(refusal(&[]), "", "the Cluster may be there already");
        assert!(refusal(&[&real, &real]).contains("exactly one Cluster, and the manifests have 2"));
        assert!(refusal(&[&simulated]).contains("Cluster \"first\" is simulated by this process"));
    }

    #[tokio::test]
    async fn the_kubeconfig_is_kept_for_a_resumed_pivot() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        let options = registry::Options::default();
        let registry = Registry::open(store, clock.clone(), Random::seeded(1), options).await.unwrap();
        let server = Server::builder(registry, clock).build();
        let client = Client::new(server.client_service(User::master("test")), "default");
        let secrets: Api<Secret> = Api::default_namespaced(client.clone());
        let secret = json!({"metadata": {"name": "first-kubeconfig"}, "stringData": {"value": "kubeconfig"}});
        let secret = serde_json::from_value(secret).unwrap();
        secrets.create(&PostParams::default(), &secret).await.unwrap();
        assert_eq!(known_target(Path::new("other"), folder.path()), Some("other".into()));
        assert_eq!(known_target(Path::new(ITSELF), folder.path()), None);
        let cluster = json!({"metadata": {"namespace": "default", "name": "first"}, "spec": {}});
        let none = write_target(&[], client.clone(), folder.path()).await.unwrap_err().to_string();
        assert!(none.contains("exactly one Cluster, and there are 0"), "{none}");
        let path = write_target(std::slice::from_ref(&cluster), client, folder.path()).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"kubeconfig");
        assert_eq!(known_target(Path::new(ITSELF), folder.path()), Some(path));
    }
}
