//! The unpacked images of a data directory.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use bundle::{Archive, Descriptor, Digest, Image};
use parking_lot::Mutex;
use pod_folders::{Root, remove};

use crate::config::Config;
use crate::layer::verified;
use crate::limits;
use crate::locks::Locks;
use crate::name::Name;
use crate::remembered::Remembered;
use crate::sums::Sums;
use crate::unpack::Layers;

/// A folder with the filesystems of images, each of which is unpacked once. A filesystem is visible only when it is complete.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
    contents: Contents,
    /// The images that are being unpacked, by their digests.
    unpacking: Locks,
    /// The images whose filesystems this process has unpacked or verified.
    verified: Arc<Mutex<BTreeSet<Digest>>>,
}

/// What is kept of the files of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// What the processes of a Pod need, who may run without root: no devices and pipes, no set-user-ID bits, no extended attributes and no times.
    Processes,
    /// Everything that a whole system needs, which runs as root. Only root can unpack it, and only root can reach it.
    System,
}

/// An image whose filesystem is complete.
#[derive(Debug, Clone)]
pub struct Unpacked {
    /// The digest of the config, which identifies the image.
    pub id: Digest,
    /// The root folder. It is shared by everything that runs the image, and is never changed.
    pub root: PathBuf,
    /// What the image runs.
    pub config: Config,
}

/// Opens a layer of an image.
pub(crate) type Open<'a> = dyn Fn(&Descriptor) -> Result<Box<dyn Read + 'a>> + 'a;

/// The prefix of a folder that is not complete.
const UNFINISHED: &str = "unfinished-";

impl Store {
    /// Opens the folder, creates it if it does not exist, and removes what an earlier process did not complete.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn open(folder: &Path) -> Result<Self> {
        Self::open_for(folder, Contents::Processes)
    }

    /// The same, and says what is kept of the files of images.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_for(folder: &Path, contents: Contents) -> Result<Self> {
        let store = Self::open_beside(folder, contents)?;
        store.clean()?;
        Ok(store)
    }

    /// The same beside another process that uses the folder: what that has not completed stays.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_beside(folder: &Path, contents: Contents) -> Result<Self> {
        use std::os::unix::fs::PermissionsExt;

        let cannot = || format!("cannot use the folder of images {}", folder.display());
        fs::create_dir_all(folder).with_context(cannot)?;
        if contents == Contents::System {
            // The images have programs that make everybody root who can start them.
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).with_context(cannot)?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            contents,
            unpacking: Locks::default(),
            verified: Arc::default(),
        })
    }

    fn clean(&self) -> Result<()> {
        let folder = &self.folder;
        let cannot = || format!("cannot use the folder of images {}", folder.display());
        for entry in fs::read_dir(folder).with_context(cannot)? {
            let entry = entry.with_context(cannot)?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                discard(folder, &entry.file_name().to_string_lossy()).with_context(cannot)?;
            }
        }
        Ok(())
    }

    /// Returns the folder for temporary files.
    pub fn scratch(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of a folder that is removed when the store is opened again.
    pub(crate) fn unfinished(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{UNFINISHED}{name}"))
    }

    /// Unpacks an image, unless that was done before. The thread may wait for another one that does the same.
    ///
    /// # Errors
    /// The image is for another platform, a layer is damaged or hostile, or the disk is full. Nothing of it remains then.
    pub fn unpack(&self, archive: &Archive, image: &Image) -> Result<Unpacked> {
        self.unpack_layers(image, &|layer| archive.layer(layer))
    }

    /// Returns an image that was pulled before under this name, and whose filesystem is complete. The first time in a process, all of it is
    /// read.
    pub async fn remembered(&self, name: &Name) -> Option<Unpacked> {
        let known = Remembered::read(&self.folder, name)?;
        let root = self.folder.join(known.id.hex());
        self.has(&known.id).await.then_some(Unpacked { id: known.id, root, config: known.config })
    }

    /// Returns whether there is the complete and undamaged filesystem of an image.
    pub(crate) async fn has(&self, id: &Digest) -> bool {
        let (store, id) = (self.clone(), *id);
        let looked = tokio::task::spawn_blocking(move || {
            let _alone = store.unpacking.blocking_lock(&id.hex());
            store.is_whole(&id)
        });
        match looked.await {
            Ok(Ok(is_whole)) => is_whole,
            Ok(Err(error)) => {
                tracing::warn!("{error:#}");
                false
            }
            // The server ends.
            Err(_) => false,
        }
    }

    /// Returns whether there is the filesystem of an image, as it was unpacked. That is verified once in a process, because a disk that lost
    /// power may have lost content. A damaged filesystem is removed, so that it is unpacked again. The caller has the lock of the image.
    fn is_whole(&self, id: &Digest) -> Result<bool> {
        let root = self.folder.join(id.hex());
        if !root.exists() {
            return Ok(false);
        }
        if self.verified.lock().contains(id) {
            return Ok(true);
        }
        // What cannot be read is damaged, too.
        let is_as_unpacked = Sums::of(&root).and_then(|sums| sums.is_kept(&self.folder, id));
        if !is_as_unpacked.as_ref().is_ok_and(|is_as_unpacked| *is_as_unpacked) {
            let why = is_as_unpacked.err().map(|error| format!(": {error:#}")).unwrap_or_default();
            tracing::warn!("the filesystem {} is damaged, and is unpacked again{why}", root.display());
            let aside = format!("{UNFINISHED}damaged-{}", id.hex());
            files::rename(&root, &self.folder.join(&aside))
                .with_context(|| format!("cannot remove {}", root.display()))?;
            // What cannot be removed now is removed when the store is opened again.
            drop(discard(&self.folder, &aside));
            return Ok(false);
        }
        self.verified.lock().insert(*id);
        Ok(true)
    }

    /// Remembers which image has this name, so that it is found again without its registry.
    ///
    /// # Errors
    /// The disk is full.
    pub(crate) fn remember(&self, name: &Name, image: &Image) -> Result<()> {
        Remembered::write(&self.folder, name, image)
    }

    /// The same as [`Self::unpack`], with layers that `open` returns.
    ///
    /// # Errors
    /// As [`Self::unpack`].
    pub(crate) fn unpack_layers(&self, image: &Image, open: &Open<'_>) -> Result<Unpacked> {
        let config = checked(image)?;
        let root = self.folder.join(image.id.hex());
        // Several Pods may begin with the same image at the same time, or one image may have several names.
        let _alone = self.unpacking.blocking_lock(&image.id.hex());
        if !self.is_whole(&image.id)? {
            let unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.folder);
            let unfinished =
                unfinished.with_context(|| format!("cannot make a folder in {}", self.folder.display()))?;
            let unfinished = unfinished.keep();
            let name = unfinished.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let filled = self.fill(&unfinished, image, &config, open).and_then(|()| {
                Sums::of(&unfinished)?.keep(&self.folder, &image.id)?;
                files::publish_folder(&unfinished, &root)
            });
            if let Err(error) = filled {
                // What cannot be removed now is removed when the store is opened again.
                drop(discard(&self.folder, &name));
                return Err(error);
            }
            self.verified.lock().insert(image.id);
        }
        Ok(Unpacked { id: image.id, root, config })
    }

    fn fill(&self, folder: &Path, image: &Image, config: &Config, open: &Open<'_>) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;

        let cannot = || format!("cannot use {}", folder.display());
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).with_context(cannot)?;
        let root = Root::open(folder)?;
        let mut layers = Layers::new(&root, self.contents);
        let mut left = limits::BYTES;
        for (layer, content) in image.layers.iter().zip(&config.layers) {
            let apply = || -> Result<u64> {
                let blob = open(layer)?;
                let (_, length) = verified(blob, layer, content, left, |content| layers.apply(content))?;
                Ok(length)
            };
            left -= described(layer, apply)?;
        }
        layers.finish()
    }
}

/// Reads the config of an image for this machine.
///
/// # Errors
/// It is for another platform, or has another number of layers than the manifest.
pub(crate) fn checked(image: &Image) -> Result<Config> {
    let config = Config::parse(&image.config)?;
    ensure!(
        config.layers.len() == image.layers.len(),
        "the config has {} layers, and the manifest {}",
        config.layers.len(),
        image.layers.len()
    );
    Ok(config)
}

fn described<T>(layer: &Descriptor, apply: impl FnOnce() -> Result<T>) -> Result<T> {
    apply().with_context(|| format!("the layer {} cannot be unpacked", layer.digest))
}

/// Removes a folder with everything in it.
fn discard(folder: &Path, name: &str) -> Result<()> {
    let opened = fs::File::open(folder)?;
    remove(opened.as_fd(), name)
}
