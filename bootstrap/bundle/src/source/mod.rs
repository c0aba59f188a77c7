//! What others made and is added to a bundle: OCI image layouts in folders, and archives of images. Nobody has checked them.

mod compressed;
mod tar;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};

use crate::names;
use crate::section::Section;
pub(crate) use tar::{Found, scan};

/// Files by their paths.
pub(crate) struct Source {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    Folder(PathBuf),
    Archive { file: Arc<File>, entries: BTreeMap<String, Found> },
}

impl Source {
    /// Opens a folder, or a tar archive that may be compressed with gzip or zstd. A compressed archive is decompressed to a file without a
    /// name in `scratch`.
    ///
    /// # Errors
    /// It is neither, or the archive is damaged or hostile.
    pub(crate) fn open(path: &Path, scratch: &Path) -> Result<Self> {
        let found = std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        let kind = if found.is_dir() {
            let root = path.canonicalize().with_context(|| format!("cannot read {}", path.display()))?;
            Kind::Folder(root)
        } else {
            let archive = || path.display().to_string();
            let file = compressed::plain(path, scratch).with_context(archive)?;
            let entries = scan(&file).with_context(archive)?;
            Kind::Archive { file: Arc::new(file), entries }
        };
        Ok(Self { path: path.to_owned(), kind })
    }

    /// Returns the path with which it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file `name`; `None` if the source does not have it.
    ///
    /// # Errors
    /// The name or a link leads out of the folder or archive, or is no file.
    pub(crate) fn file(&self, name: &str) -> Result<Option<Section>> {
        let name = names::relative(name).with_context(|| format!("{name:?}"))?;
        match &self.kind {
            Kind::Folder(root) => {
                let Ok(path) = root.join(&name).canonicalize() else { return Ok(None) };
                ensure!(path.starts_with(root), "{name}: the link leads out of the folder");
                let file = files::open(&path).with_context(|| format!("{name}: cannot be opened"))?;
                let found = file.metadata().with_context(|| format!("{name}: cannot be read"))?;
                Ok(Some(Section::new(Arc::new(file), 0, found.len())))
            }
            Kind::Archive { file, entries } => {
                let section = |offset, size| Ok(Some(Section::new(file.clone(), offset, size)));
                match entries.get(&name) {
                    None => Ok(None),
                    Some(Found::File { offset, size }) => section(*offset, *size),
                    Some(Found::Link(target)) => match entries.get(target) {
                        Some(Found::File { offset, size }) => section(*offset, *size),
                        Some(Found::Link(_)) => {
                            anyhow::bail!("{name}: it is a link to another link, {target}")
                        }
                        None => {
                            anyhow::bail!("{name}: it is a link to {target}, which the archive does not have")
                        }
                    },
                }
            }
        }
    }

    /// Returns the content of the small file `name`; `None` if the source does not have it.
    ///
    /// # Errors
    /// The file has more than `most` bytes, or cannot be read.
    pub(crate) fn small(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let Some(mut section) = self.file(name)? else { return Ok(None) };
        let size = section.remaining();
        ensure!(size <= most, "{name}: it has {size} bytes, more than {most}");
        let mut content = Vec::new();
        section.read_to_end(&mut content).with_context(|| format!("{name}: cannot be read"))?;
        ensure!(content.len() as u64 == size, "{name}: it became shorter while it was read");
        Ok(Some(content))
    }
}
