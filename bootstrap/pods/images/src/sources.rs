//! Where images are found: folders and archives of this machine.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bundle::{Archive, Image};

use crate::name::Name;

/// The folders and archives in which images are looked for, in this order.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    paths: Vec<PathBuf>,
}

/// What [`Sources::state`] returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcesState(Vec<(PathBuf, Option<[i64; 4]>)>);

impl Sources {
    /// Returns the sources at `paths`: archives of images, OCI image layouts, and folders that contain such archives and layouts.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self { paths }
    }

    /// Returns whether no folder and no archive is named.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Finds an image; `scratch` is a folder for temporary files.
    ///
    /// # Errors
    /// No source has the image; the message has the reasons of the sources that could not be read.
    pub fn find(&self, name: &Name, scratch: &Path) -> Result<(Archive, Image)> {
        let mut unreadable = Vec::new();
        for path in self.archives()? {
            let found = Archive::open(&path, scratch).and_then(|archive| {
                let image = archive.image(&name.reference, name.digest.as_ref())?;
                Ok(image.map(|image| (archive, image)))
            });
            match found {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(error) => unreadable.push(format!("{error:#}")),
            }
        }
        let places: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        match (places.as_slice(), unreadable.as_slice()) {
            ([], _) => bail!("no folder or archive with images is configured, in which {name} could be"),
            (_, []) => bail!("the image {name} is not in {}", places.join(", ")),
            (_, reasons) => bail!("the image {name} is not in {}; {}", places.join(", "), reasons.join("; ")),
        }
    }

    /// Returns a value that is another one when something was added to the sources, removed or replaced: reading all of them takes long.
    pub fn state(&self) -> SourcesState {
        let all = self.archives().unwrap_or_else(|_| self.paths.clone());
        SourcesState(
            all.into_iter()
                .map(|path| {
                    let index = path.join("index.json");
                    let found = std::fs::metadata(&index).or_else(|_| std::fs::metadata(&path)).ok();
                    let facts = found.map(|found| {
                        [found.mtime(), found.mtime_nsec(), found.size() as i64, found.ino() as i64]
                    });
                    (path, facts)
                })
                .collect(),
        )
    }

    /// Returns all archives and image layouts, in the order of the paths and then of their names.
    ///
    /// # Errors
    /// A path cannot be read.
    pub fn archives(&self) -> Result<Vec<PathBuf>> {
        let mut archives = Vec::new();
        for path in &self.paths {
            let cannot = || format!("cannot read {}", path.display());
            let is_folder = std::fs::metadata(path).with_context(cannot)?.is_dir();
            if !is_folder || path.join("index.json").exists() {
                archives.push(path.clone());
                continue;
            }
            let entries = std::fs::read_dir(path).with_context(cannot)?;
            let mut found = entries
                .map(|entry| Ok(entry.with_context(cannot)?.path()))
                .collect::<Result<Vec<PathBuf>>>()?;
            found.sort();
            archives.extend(found);
        }
        Ok(archives)
    }
}
