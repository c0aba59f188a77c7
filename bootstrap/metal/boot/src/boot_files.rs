//! The boot files of this site: kernels, initial file systems, unified images, and iPXE. Nothing is fetched from elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::client::Processor;
use crate::error::Error;
use crate::offer::unified_name;

/// The paths of the files that machines boot.
#[derive(Clone, Debug, Default)]
pub struct BootFiles {
    /// Unified kernel images, for UEFI.
    pub unified: BTreeMap<Processor, PathBuf>,
    /// systemd's stubs for making unified images with other arguments; empty where the site signs its images.
    pub stubs: BTreeMap<Processor, PathBuf>,
    /// Kernels for iPXE.
    pub kernels: BTreeMap<Processor, PathBuf>,
    /// The initial file systems for the kernels, with the agent.
    pub initial: BTreeMap<Processor, PathBuf>,
    /// Folders with files for TFTP: iPXE's programs, a Raspberry Pi's boot loader. If two files have the same name, the first one is
    /// served.
    pub tftp: Vec<PathBuf>,
    /// Arguments of the kernel in addition to those of the server.
    pub arguments: String,
}

impl BootFiles {
    /// Returns the names of the files in the folders for TFTP; names in subfolders contain slashes.
    ///
    /// # Errors
    /// [`Error::File`] if a folder cannot be read.
    pub fn tftp_names(&self) -> Result<BTreeSet<String>, Error> {
        let mut names = BTreeSet::new();
        let mut folders: Vec<(PathBuf, String)> =
            self.tftp.iter().map(|folder| (folder.clone(), String::new())).collect();
        while let Some((folder, prefix)) = folders.pop() {
            let failed = |source| Error::File { path: folder.display().to_string(), source };
            for entry in std::fs::read_dir(&folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                // `metadata` follows symbolic links.
                match std::fs::metadata(entry.path()) {
                    Ok(found) if found.is_file() => {
                        names.insert(name);
                    }
                    Ok(found) if found.is_dir() && prefix.matches('/').count() < 3 => {
                        folders.push((entry.path(), format!("{name}/")));
                    }
                    _ => {}
                }
            }
        }
        Ok(names)
    }

    /// Returns the path of the file that is served as `/boot/NAME` over HTTP and as `NAME` over TFTP; `None` for names that are not
    /// configured.
    pub fn path(&self, name: &str, tftp: &BTreeSet<String>) -> Option<PathBuf> {
        for (processor, path) in &self.unified {
            if name == unified_name(*processor) {
                return Some(path.clone());
            }
        }
        for (folder, files) in [("kernel", &self.kernels), ("initrd", &self.initial)] {
            for (processor, path) in files {
                if name.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) == Some(processor.name())
                {
                    return Some(path.clone());
                }
            }
        }
        let mut places = self.tftp.iter().map(|folder| folder.join(name));
        places.find(|path| tftp.contains(name) && path.is_file())
    }

    /// All files that the configuration names.
    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.unified
            .values()
            .chain(self.stubs.values())
            .chain(self.kernels.values())
            .chain(self.initial.values())
    }

    /// Checks at the start that the files can be read, rather than when a machine asks for them.
    ///
    /// # Errors
    /// [`Error::File`] for the first file that cannot be read.
    pub fn check(&self) -> Result<(), Error> {
        for path in self.all() {
            std::fs::File::open(path)
                .map_err(|source| Error::File { path: path.display().to_string(), source })?;
        }
        self.tftp_names().map(|_| ())
    }
}
