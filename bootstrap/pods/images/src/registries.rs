//! Pulls images from registries.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use bundle::{Descriptor, Digest, Image};
use distribution::{Client, Credentials, Session};
use tokio::sync::Semaphore;

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
        let key = name.to_string();
        let own = self.names.lock(&key).await;
        if policy == Policy::IfNotPresent
            && let Some(known) = store.remembered(name).await
        {
            return Ok(known);
        }
        let turn = self.turns.acquire().await.context("the server ends")?;
        let folder = store.scratch().join(FOLDER).join(Digest::of(key.as_bytes()).hex());
        let fetched = self.fetch(store, name, credentials, &folder);
        let fetched = tokio::time::timeout(self.longest, fetched).await;
        let image = fetched.map_err(|_| {
            let (repository, longest) = (&name.reference.repository, self.longest);
            anyhow!("{repository} did not come within {longest:?}; the next pull goes on with what came")
        })??;
        drop(turn);
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

    /// Finds an image and fetches its layers to `folder`, unless its filesystem is there.
    async fn fetch(
        &self,
        store: &Store,
        name: &Name,
        credentials: &Credentials,
        folder: &Path,
    ) -> Result<Image> {
        let session = self.client.session(&name.reference.repository, credentials)?;
        let image = session.image(name.reference.tag.as_deref(), name.digest.as_ref()).await?;
        // An image that cannot run here is not fetched.
        checked(&image)?;
        if !store.has(&image.id).await {
            layers(&session, &image, folder).await?;
        }
        Ok(image)
    }
}

async fn layers(session: &Session<'_>, image: &Image, folder: &Path) -> Result<()> {
    let bytes = image.layers.iter().fold(0u64, |sum, layer| sum.saturating_add(layer.size));
    ensure!(bytes <= limits::BYTES, "its layers have {bytes} bytes, more than {}", limits::BYTES);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for layer in &image.layers {
        session.download(layer, &folder.join(layer.digest.hex())).await?;
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
