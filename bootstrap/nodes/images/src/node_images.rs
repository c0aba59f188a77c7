//! Where images of nodes come from.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use bundle::{Archive, Digest};
use container_images::{
    Contents, Credentials, Name, Policy, Registries, Sources, SourcesState, Store, Unpacked,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::clock::Clock;
use parking_lot::Mutex;
use system_containers::{Image, Images, Report};
use tokio::io::AsyncRead;

use crate::turn::Turns;
use crate::words::Words;
use crate::{archive, check, stream};

/// The folder of the images that were pulled to be handed on as archives, in the data directory: an OCI image layout for each name. It may be
/// removed at any time.
const LAYOUTS: &str = "archives";
/// What to do if an image is nowhere.
pub const REMEDY: &str = "check the name, or name an archive, a folder or a bundle that has the image with --container-images; \
     `firstlight image node` makes an image of a node";

/// What [`NodeImages`] need.
pub struct Options {
    /// The folder for what is pulled and unpacked. Only root can reach it.
    pub data: PathBuf,
    /// Where images are looked for first.
    pub sources: Sources,
    /// Where they are pulled from.
    pub registries: Arc<Registries>,
    /// The users and passwords of registries.
    pub credentials: Credentials,
    /// The clock of this process.
    pub clock: Clock,
}

/// The images of a machine without a container runtime.
#[derive(Clone)]
pub struct NodeImages(Arc<Shared>);

struct Shared {
    store: Store,
    sources: Sources,
    registries: Arc<Registries>,
    credentials: Credentials,
    /// What was found so far, by name.
    found: Mutex<BTreeMap<String, Found>>,
    /// Several who want one image would decompress its archive several times.
    turns: Turns,
}

/// An image that was found.
struct Found {
    /// The sources then.
    sources: SourcesState,
    image: Image,
}

impl NodeImages {
    /// Opens the data directory, and removes what an earlier process did not complete. Several processes may have it open.
    ///
    /// # Errors
    /// This process is not root's, or the folder cannot be used.
    pub fn open(options: Options) -> Result<Self> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "images of nodes can only be unpacked by root, whose files they have: start this program as root"
        );
        let Options { data, sources, registries, credentials, clock } = options;
        let store = match Turns::if_free(&data, || Store::open_for(&data, Contents::System))? {
            Some(store) => store,
            None => Store::open_beside(&data, Contents::System)?,
        };
        let (found, turns) = (Mutex::default(), Turns::new(&data, clock));
        Ok(Self(Arc::new(Shared { store, sources, registries, credentials, found, turns })))
    }
}

impl Images for NodeImages {
    fn find<'a>(&'a self, name: &'a str, report: Report<'a>) -> BoxFuture<'a, Result<Image>> {
        self.0.find(name, report).boxed()
    }

    fn archive<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncRead + Send + Unpin>>> {
        self.0.clone().archive(name).boxed()
    }
}

impl Shared {
    async fn find(&self, text: &str, report: Report<'_>) -> Result<Image> {
        let name: Name = text.parse()?;
        let sources = self.sources.clone();
        let state = in_thread(move || Ok(sources.state())).await?;
        if let Some(known) = self.known(text, &state) {
            return Ok(known);
        }
        let _turn = self.turns.wait(&name.to_string(), report).await?;
        if let Some(known) = self.known(text, &state) {
            return Ok(known);
        }
        let local = self.local(&name, report).await?;
        let unpacked = match local {
            Ok(unpacked) => unpacked,
            Err(why) => self.pull(&name, report).await.map_err(|error| nowhere(&name, &why, &error))?,
        };
        let label = name.to_string();
        let checked = in_thread(move || check::node(&label, &unpacked.root, &unpacked.config)).await?;
        self.found.lock().insert(text.to_owned(), Found { sources: state, image: checked.clone() });
        Ok(checked)
    }

    fn known(&self, name: &str, sources: &SourcesState) -> Option<Image> {
        let found = self.found.lock();
        let known = found.get(name).filter(|found| found.sources == *sources)?;
        Path::new(&known.image.id).is_dir().then(|| known.image.clone())
    }

    /// Finds an image in the sources. The inner error says why they do not have it.
    async fn local(&self, name: &Name, report: Report<'_>) -> Result<Result<Unpacked>> {
        let (archive, image) = match self.read_sources(&self.sources, name).await {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        report(&format!("preparing {name}"));
        let store = self.store.clone();
        let unpacked = in_thread(move || store.unpack(&archive, &image)).await;
        unpacked.with_context(|| format!("the image {name}")).map(Ok)
    }

    async fn read_sources(&self, sources: &Sources, name: &Name) -> Result<(Archive, bundle::Image)> {
        let (sources, name) = (sources.clone(), name.clone());
        let scratch = self.store.scratch().to_owned();
        in_thread(move || sources.find(&name, &scratch)).await
    }

    async fn pull(&self, name: &Name, report: Report<'_>) -> Result<Unpacked> {
        let text = name.to_string();
        let words = Words::new(&text);
        let tell = |progress| {
            if let Some(words) = words.of(progress) {
                report(&words);
            }
        };
        let (registries, policy) = (&self.registries, Policy::IfNotPresent);
        registries.pull_with(&self.store, name, policy, &self.credentials, &tell).await
    }

    async fn archive(self: Arc<Self>, text: &str) -> Result<Box<dyn AsyncRead + Send + Unpin>> {
        let name: Name = text.parse()?;
        let names = archive::names(&name);
        let _turn = self.turns.wait(&name.to_string(), &|_| ()).await?;
        let local = self.read_sources(&self.sources, &name).await;
        let (folder, (archive, image)) = match local {
            Ok(found) => (None, found),
            Err(why) => {
                let folder =
                    self.store.scratch().join(LAYOUTS).join(Digest::of(name.to_string().as_bytes()).hex());
                let pulled = self.pulled(&name, &names, &folder).await;
                (Some(folder), pulled.map_err(|error| nowhere(&name, &why, &error))?)
            }
        };
        Ok(stream::of(move |out| {
            let named = archive::Named::of(&archive, &image, &names);
            let written = archive::write(&[named], out);
            if let Some(folder) = folder.filter(|_| written.as_ref().is_err_and(|error| !is_gone(error))) {
                // Without it, the next call fetches what is damaged.
                drop(fs::remove_file(folder.join("index.json")));
            }
            written.with_context(|| format!("the image {name}"))
        }))
    }

    /// Returns an image that is kept as an image layout in `folder`, after it was pulled.
    async fn pulled(&self, name: &Name, names: &[String], folder: &Path) -> Result<(Archive, bundle::Image)> {
        self.registries.pull_layout(name, &self.credentials, folder, names).await?;
        // Its digest may be that of an index, which the layout does not have.
        let own = Name { digest: None, ..name.clone() };
        self.read_sources(&Sources::new(vec![folder.to_owned()]), &own).await
    }
}

/// Returns an image of these sources as an archive that containerd and Docker load. `scratch` is a folder for temporary files.
///
/// # Errors
/// No source has the image; reading fails with an error if it is damaged.
pub async fn local(
    sources: &Sources,
    name: &Name,
    scratch: &Path,
) -> Result<Box<dyn AsyncRead + Send + Unpin>> {
    let (sources, scratch, wanted) = (sources.clone(), scratch.to_owned(), name.clone());
    let found = in_thread(move || {
        if !sources.is_empty() {
            files::make_folder(&scratch, 0o700)?;
        }
        sources.find(&wanted, &scratch)
    });
    let ((archive, image), name) = (found.await?, name.clone());
    Ok(stream::of(move |out| {
        let names = archive::names(&name);
        let named = archive::Named::of(&archive, &image, &names);
        archive::write(&[named], out).with_context(|| format!("the image {name}"))
    }))
}

/// Returns whether nobody wants the archive any more.
fn is_gone(error: &anyhow::Error) -> bool {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes.into_iter().any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn nowhere(name: &Name, local: &anyhow::Error, pull: &anyhow::Error) -> anyhow::Error {
    anyhow!(
        "{local:#}; it was not pulled before, and cannot be pulled now: {pull:#}. To have {name}, {REMEDY}"
    )
}

/// Runs what waits for the disk.
async fn in_thread<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.context("the server ends")?
}
