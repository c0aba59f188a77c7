//! Pulls images from registries.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use bundle::{Descriptor, Image};
use distribution::{Client, Credentials, Session};
use tokio::sync::Mutex;

use crate::limits;
use crate::name::Name;
use crate::store::{Store, Unpacked, checked};

/// The folder of layers that are being pulled, in the folder of images.
const FOLDER: &str = "blobs";

/// When a registry is asked about an image that was pulled before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Only if this machine does not have the image.
    IfNotPresent,
    /// Before each start; only what has changed is pulled.
    Always,
}

/// Registries from which images are pulled, one after the other, so that two Pods do not pull the same one.
pub struct Registries {
    client: Client,
    turn: Mutex<()>,
}

impl Registries {
    /// Returns the registries that `client` reaches.
    pub fn new(client: Client) -> Self {
        Self { client, turn: Mutex::default() }
    }

    /// Pulls and unpacks an image, unless that was done before.
    ///
    /// # Errors
    /// The registry does not have it or wants other credentials, it is for another platform, damaged or hostile, or the disk is full. What
    /// was received of its layers stays for the next attempt.
    pub async fn pull(
        &self,
        store: &Store,
        name: &Name,
        policy: Policy,
        credentials: &Credentials,
    ) -> Result<Unpacked> {
        let _turn = self.turn.lock().await;
        if policy == Policy::IfNotPresent
            && let Some(known) = store.remembered(name)
        {
            return Ok(known);
        }
        let session = self.client.session(&name.reference.repository, credentials)?;
        let image = session.image(name.reference.tag.as_deref(), name.digest.as_ref()).await?;
        // An image that cannot run here is not fetched.
        checked(&image)?;
        let unpacked = fetch(&session, store, &image).await?;
        store.remember(name, &image)?;
        Ok(unpacked)
    }
}

async fn fetch(session: &Session<'_>, store: &Store, image: &Image) -> Result<Unpacked> {
    let folder = store.scratch().join(FOLDER);
    if !store.scratch().join(image.id.hex()).exists() {
        let bytes = image.layers.iter().fold(0u64, |sum, layer| sum.saturating_add(layer.size));
        ensure!(bytes <= limits::BYTES, "its layers have {bytes} bytes, more than {}", limits::BYTES);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for layer in &image.layers {
            session.download(layer, &folder.join(layer.digest.hex())).await?;
        }
    }
    let (store, image, blobs) = (store.clone(), image.clone(), folder.clone());
    let unpacked =
        tokio::task::spawn_blocking(move || store.unpack_layers(&image, &|layer| open(&blobs, layer)));
    let unpacked = unpacked.await.context("the image was not unpacked")??;
    // Its layers are in its filesystem now, and nobody else pulls at this time.
    if let Err(error) = fs::remove_dir_all(&folder)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!("{} cannot be removed: {error}", folder.display());
    }
    Ok(unpacked)
}

fn open(folder: &Path, layer: &Descriptor) -> Result<Box<dyn Read>> {
    let path = folder.join(layer.digest.hex());
    Ok(Box::new(File::open(&path).with_context(|| format!("cannot read {}", path.display()))?))
}
