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

use super::UpOptions;
use crate::backup::JOURNAL;
use crate::commands::pivot::{address, assemble, connect, install_first};
use crate::data_directory::{DataDirectory, write_private};
use crate::install::other_controllers;
use crate::output::{say, tell};
use crate::{handed_over, image, nodes};

/// The value of `--pivot-to` for the cluster that `up` brings up.
pub(super) const ITSELF: &str = "self";

/// Returns whether everything moves into the cluster that `up` brings up.
pub(super) fn is_itself(target: &Path) -> bool {
    target.as_os_str() == ITSELF
}

/// Returns the kubeconfig of the target; `None` if the target is the cluster that `up` brings up, and that is not known yet.
///
/// # Errors
/// The kubeconfig that was kept of this cluster would run a command or read a file.
pub(super) fn known_target(target: &Path, folder: &Path) -> Result<Option<PathBuf>> {
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
pub(super) fn check_manifests<'a>(objects: impl Iterator<Item = &'a Value>) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use access::User;
    use kube::api::PostParams;
    use machinery::random::Random;
    use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
    use registry::Registry;
    use serde_json::json;
    use serving::Server;
    use store::{Memory, Store};

    use super::*;

    #[test]
    fn everything_moves_into_one_real_cluster() {
        let cluster = |infrastructure: &str| json!({"kind": "Cluster", "metadata": {"name": "first"}, "spec": {"infrastructureRef": {"kind": infrastructure}}});
        let (real, other) = (cluster("Metal3Cluster"), json!({"kind": "Secret"}));
        let (mut of_dev, dev) = (
            cluster("DevCluster"),
            |backend: &str| json!({"kind": "DevCluster", "metadata": {"name": "first"}, "spec": {"backend": {backend: {}}}}),
        );
        of_dev["spec"]["infrastructureRef"]["name"] = json!("first");
        let refusal = |objects: &[&Value]| {
            check_manifests(objects.iter().copied()).err().map_or(String::new(), |error| error.to_string())
        };
        assert_eq!(refusal(&[&real, &other]), "");
        assert_eq!(refusal(&[]), "", "the Cluster may be there already");
        assert!(refusal(&[&real, &real]).contains("exactly one Cluster, and the manifests have 2"));
        assert!(
            refusal(&[&of_dev, &dev("inMemory")]).contains("Cluster \"first\" is simulated by this process")
        );
        assert_eq!(refusal(&[&of_dev, &dev("docker")]), "");
        assert_eq!(refusal(&[&of_dev]), "", "its infrastructure may be there already");
    }

    #[tokio::test]
    async fn the_kubeconfig_is_kept_for_a_resumed_pivot() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        let options = registry::Options::default();
        let random = Random::seeded(1);
        let registry = Registry::open(store, clock.clone(), random.clone(), options).await.unwrap();
        let server = Server::builder(registry, clock.clone()).build();
        let client = Client::new(server.client_service(User::master("test")), "default");
        let secrets: Api<Secret> = Api::default_namespaced(client.clone());
        let authority =
            CertificateAuthority::generate("ca", KeyAlgorithm::default(), None, clock.now(), &random);
        let authority = authority.unwrap();
        let identity = authority.issue(&Leaf::client("admin", &[]), clock.now(), &random).unwrap();
        let kubeconfig =
            Kubeconfig::for_cluster("first", "https://[::1]:1", authority.certificate(), identity);
        let mut trap = kubeconfig.to_value();
        trap["users"][0]["user"]["exec"] = json!({"command": "touch"});
        let target = |path: &str| known_target(Path::new(path), folder.path()).unwrap();
        assert_eq!(target("other"), Some("other".into()));
        assert_eq!(target(ITSELF), None);
        let cluster = json!({"metadata": {"namespace": "default", "name": "first"}, "spec": {}});
        let none = write_target(&[], client.clone(), folder.path()).await.unwrap_err().to_string();
        assert!(none.contains("exactly one Cluster, and there are 0"), "{none}");
        let of_cluster = std::slice::from_ref(&cluster);
        let put = async |value: String| {
            let secret = json!({"metadata": {"name": "first-kubeconfig"}, "stringData": {"value": value}});
            drop(secrets.delete("first-kubeconfig", &Default::default()).await);
            secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
        };
        put(trap.to_string()).await;
        let refused =
            format!("{:#}", write_target(of_cluster, client.clone(), folder.path()).await.unwrap_err());
        assert!(refused.contains("first-kubeconfig: ") && refused.contains("exec of its user"), "{refused}");
        assert_eq!(target(ITSELF), None, "nothing was written");
        let mut with_more = kubeconfig.to_value();
        with_more["users"].as_array_mut().unwrap().push(json!({"name": "other", "user": {"exec": {}}}));
        put(with_more.to_string()).await;
        let path = write_target(of_cluster, client, folder.path()).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), kubeconfig.to_yaml().unwrap());
        assert_eq!(target(ITSELF), Some(path.clone()));
        // An earlier release may have kept it as it was.
        std::fs::write(&path, trap.to_string()).unwrap();
        let refused = known_target(Path::new(ITSELF), folder.path()).unwrap_err();
        assert!(format!("{refused:#}").contains("exec of its user"), "{refused:#}");
    }
}
