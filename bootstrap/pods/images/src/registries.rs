//! Pulls images from registries.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use bundle::{Descriptor, Digest, Image};
use distribution::{Client, Credentials, Session};
use tokio::sync::Semaphore;

use crate::layout;
use crate::limits;
use crate::locks::Locks;
use crate::name::Name;
use crate::store::{Store, Unpacked, checked};

/// The folder of layers that are being pulled, in the folder of images: a folder for each name.
const FOLDER: &str = "blobs";

/// When a registry is asked about an image that was pulled before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Only if this machine does not have the image.
    IfNotPresent,
    /// Before each start; only what has changed is pulled.
    Always,
}

/// How far a pull is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Layers come.
    Pulling {
        /// The number of the layer that comes, beginning with 1.
        layer: usize,
        /// The number of layers.
        layers: usize,
        /// The bytes of all layers that are there.
        received: u64,
        /// The bytes of all layers.
        bytes: u64,
    },
    /// All layers are there, and are unpacked.
    Unpacking,
}

/// Is told how far a pull is.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// Registries from which images are pulled: each image by one of its Pods at a time, and a limited number of images at once.
pub struct Registries {
    client: Client,
    names: Locks,
    turns: Semaphore,
    longest: Duration,
}

impl Registries {
    /// Returns the registries that `client` reaches.
    pub fn new(client: Client) -> Self {
        Self { client, names: Locks::default(), turns: Semaphore::new(limits::PULLS), longest: limits::PULL }
    }

    /// Returns registries that have this time for an image.
    pub fn with_longest(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    /// Pulls and unpacks an image, unless that was done before. Who wants the same image meanwhile waits, and takes over if this is dropped.
    ///
    /// # Errors
    /// The registry does not have it, wants other credentials, or is too slow; it is for another platform, damaged or hostile, or the disk is
    /// full. What was received of its layers stays for the next attempt.
    pub async fn pull(
        &self,
        store: &Store,
        name: &Name,
        policy: Policy,
        credentials: &Credentials,
    ) -> Result<Unpacked> {
        self.pull_with(store, name, policy, credentials, &|_| ()).await
    }

    /// The same, and tells `progress` how far it is.
    ///
    /// # Errors
    /// As [`Self::pull`].
    pub async fn pull_with(
        &self,
        store: &Store,
        name: &Name,
        policy: Policy,
        credentials: &Credentials,
        progress: OnProgress<'_>,
    ) -> Result<Unpacked> {
        let key = name.to_string();
        let own = self.names.lock(&key).await;
        if policy == Policy::IfNotPresent
            && let Some(known) = store.remembered(name).await
        {
            return Ok(known);
        }
        let folder = store.scratch().join(FOLDER).join(Digest::of(key.as_bytes()).hex());
        let fetch = async |session: &Session<'_>, image: &Image| match store.has(&image.id).await {
            true => Ok(()),
            false => layers(session, image, &folder, progress).await,
        };
        let image = self.fetch(name, credentials, fetch).await?;
        progress(Progress::Unpacking);
        let (store, name, names) = (store.clone(), name.clone(), self.names.clone());
        let unpacked = tokio::task::spawn_blocking(move || {
            let unpacked = store.unpack_layers(&image, &|layer| open(&folder, layer))?;
            store.remember(&name, &image)?;
            discard(&store, &folder, &names);
            // A thread cannot be stopped, so it keeps the image until it has ended.
            drop(own);
            Ok(unpacked)
        });
        unpacked.await.context("the image was not unpacked")?
    }

    /// Pulls an image as an OCI image layout, which [`crate::Sources`] reads, unless `folder` has it. It has these names there. Who wants the same
    /// image meanwhile waits, as for [`Self::pull`].
    ///
    /// # Errors
    /// As [`Self::pull`].
    pub async fn pull_layout(
        &self,
        name: &Name,
        credentials: &Credentials,
        folder: &Path,
        names: &[String],
    ) -> Result<()> {
        let _own = self.names.lock(&name.to_string()).await;
        if folder.join(layout::INDEX).exists() {
            return Ok(());
        }
        let blobs = folder.join(layout::BLOBS);
        let fetch =
            async |session: &Session<'_>, image: &Image| layers(session, image, &blobs, &|_| ()).await;
        let image = self.fetch(name, credentials, fetch).await?;
        layout::complete(folder, &image, names)
    }

    /// Finds an image, and calls `layers` with it when it is its turn. Both have a time.
    async fn fetch(
        &self,
        name: &Name,
        credentials: &Credentials,
        layers: impl AsyncFnOnce(&Session<'_>, &Image) -> Result<()>,
    ) -> Result<Image> {
        let _turn = self.turns.acquire().await.context("the server ends")?;
        let repository = &name.reference.repository;
        let fetch = async {
            let session = self.client.session(repository, credentials)?;
            let image = session.image(name.reference.tag.as_deref(), name.digest.as_ref()).await?;
            // An image that cannot run here is not fetched.
            checked(&image)?;
            layers(&session, &image).await?;
            Ok(image)
        };
        let longest = self.longest;
        let late =
            || anyhow!("{repository} did not come within {longest:?}; the next pull goes on with what came");
        tokio::time::timeout(longest, fetch).await.map_err(|_| late())?
    }
}

async fn layers(session: &Session<'_>, image: &Image, folder: &Path, progress: OnProgress<'_>) -> Result<()> {
    let bytes = image.layers.iter().fold(0u64, |sum, layer| sum.saturating_add(layer.size));
    ensure!(bytes <= limits::BYTES, "its layers have {bytes} bytes, more than {}", limits::BYTES);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut before = 0;
    for (at, layer) in image.layers.iter().enumerate() {
        let received = |received| {
            let layers = image.layers.len();
            progress(Progress::Pulling { layer: at + 1, layers, received: before + received, bytes });
        };
        session.download_with(layer, &folder.join(layer.digest.hex()), &received).await?;
        before += layer.size;
    }
    Ok(())
}

/// Removes the layers of an image whose filesystem is complete. If no other image is being pulled, what was left of other pulls goes, too.
fn discard(store: &Store, folder: &Path, names: &Locks) {
    remove(folder);
    let all = store.scratch().join(FOLDER);
    let aside = store.unfinished("blobs");
    names.if_last(|| drop(files::rename(&all, &aside)));
    remove(&aside);
}

fn remove(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!("{} cannot be removed: {error}", folder.display());
    }
}

fn open(folder: &Path, layer: &Descriptor) -> Result<Box<dyn Read>> {
    let path = folder.join(layer.digest.hex());
    Ok(Box::new(File::open(&path).with_context(|| format!("cannot read {}", path.display()))?))
}
