//! What this site has to boot: kernels, the first file system, unified images, iPXE. Nothing is fetched from elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::client::Processor;
use crate::error::Error;
use crate::offer::unified_name;

/// Where the files are that machines boot.
#[derive(Clone, Debug, Default)]
pub struct BootFiles {
    /// Unified kernel images, for UEFI.
    pub unified: BTreeMap<Processor, PathBuf>,
    /// systemd's stubs, where unified images with other arguments may be made: not where the site signs them.
    pub stubs: BTreeMap<Processor, PathBuf>,
    /// Kernels, for iPXE.
    pub kernels: BTreeMap<Processor, PathBuf>,
    /// Their first file systems, with the agent.
    pub initial: BTreeMap<Processor, PathBuf>,
    /// Folders with files for TFTP: iPXE's programs, a Raspberry Pi's boot loader. Of two files of a name the first counts.
    pub tftp: Vec<PathBuf>,
    /// Arguments of the kernel, beside those of the server.
    pub arguments: String,
}

impl BootFiles {
    /// The names of the files in the folders for TFTP, those of subfolders with a slash.
    ///
    /// # Errors
    /// [`Error::File`] when a folder cannot be read.
    pub fn tftp_names(&self) -> Result<BTreeSet<String>, Error> {
        let mut names = BTreeSet::new();
        let mut folders: Vec<(PathBuf, String)> =
            self.tftp.iter().map(|folder| (folder.clone(), String::new())).collect();
        while let Some((folder, prefix)) = folders.pop() {
            let failed = |source| Error::File { path: folder.display().to_string(), source };
            for entry in std::fs::read_dir(&folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                // A link counts as what it points to.
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

    /// The file that is served as `/boot/NAME` over HTTP and as `NAME` over TFTP; only names that the configuration gave exist.
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

    /// All files by name, for a check at the start.
    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.unified
            .values()
            .chain(self.stubs.values())
            .chain(self.kernels.values())
            .chain(self.initial.values())
    }

    /// Looks whether the files can be read: better now than when a machine asks.
    ///
    /// # Errors
    /// [`Error::File`] for the first that cannot.
    pub fn check(&self) -> Result<(), Error> {
        for path in self.all() {
            std::fs::File::open(path)
                .map_err(|source| Error::File { path: path.display().to_string(), source })?;
        }
        self.tftp_names().map(|_| ())
    }
}
