//! Which image a registry meant by a name: a small file for each name, so that a restart needs no registry.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bundle::{Digest, Image};
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::name::Name;

/// The folder of these files in the folder of images.
const FOLDER: &str = "names";

/// An image that was pulled under a name.
pub(crate) struct Remembered {
    /// The digest of its config.
    pub(crate) id: Digest,
    /// What it runs.
    pub(crate) config: Config,
}

#[derive(Serialize, Deserialize)]
struct File {
    name: String,
    manifest: Digest,
    id: Digest,
    config: String,
}

impl Remembered {
    /// Reads what is remembered about a name. A damaged file is the same as none: the image is pulled again.
    pub(crate) fn read(folder: &Path, name: &Name) -> Option<Self> {
        let file: File = serde_json::from_slice(&fs::read(path(folder, name)).ok()?).ok()?;
        let is_whole = file.name == name.to_string() && Digest::of(file.config.as_bytes()) == file.id;
        let config = Config::parse(file.config.as_bytes()).ok()?;
        is_whole.then_some(Self { id: file.id, config })
    }

    /// Remembers the image of a name, instead of the one before.
    pub(crate) fn write(folder: &Path, name: &Name, image: &Image) -> Result<()> {
        let config = String::from_utf8(image.config.clone()).context("the config is not UTF-8")?;
        let file = File { name: name.to_string(), manifest: image.manifest, id: image.id, config };
        files::write(&path(folder, name), 0o600, &serde_json::to_vec(&file)?)
    }
}

fn path(folder: &Path, name: &Name) -> PathBuf {
    folder.join(FOLDER).join(Digest::of(name.to_string().as_bytes()).hex())
}
