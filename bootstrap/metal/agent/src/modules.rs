//! Kernel modules: which of them the machine's devices need, and in which order they are loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use agent_protocol::modules::{FOLDER, INDEX, Index};
use anyhow::{Context, Result};
use parking_lot::Mutex;

use crate::journal::Journal;

/// The modules that have been tried. Two threads load modules: the one for the kernel's messages, and the one that enumerates devices.
#[derive(Default)]
pub struct Tried(Mutex<BTreeMap<String, Arc<Once>>>);

impl Tried {
    /// Runs `work` unless it was run for this name. If another thread is running it, waits for that thread: the kernel refuses a module
    /// whose dependencies are not loaded.
    pub fn once(&self, name: &str, work: impl FnOnce()) {
        let one = self.0.lock().entry(name.to_owned()).or_insert_with(|| Arc::new(Once::new())).clone();
        one.call_once(work);
    }
}

/// Loads modules into the running kernel, each at most once.
pub struct Loader {
    index: Index,
    folder: PathBuf,
    tried: Tried,
    journal: Journal,
}

impl Loader {
    /// Reads the index at [`INDEX`]; if the file is missing, there are no modules to load.
    ///
    /// # Errors
    /// The index is invalid.
    pub fn of_initramfs(journal: Journal) -> Result<Self> {
        let index = match std::fs::read(INDEX) {
            Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| {
                format!("{INDEX} is no index of kernel modules; pack the initramfs again")
            })?,
            Err(_) => Index::default(),
        };
        Ok(Self { index, folder: FOLDER.into(), tried: Tried::default(), journal })
    }

    /// Loads a module and its dependencies; errors are logged.
    pub fn load(&self, name: &str) {
        for module in self.index.order(name) {
            self.tried.once(&module.name, || {
                if let Err(error) = load(&self.folder.join(&module.path)) {
                    self.journal.line(format!("kernel module {}: {error:#}", module.name));
                }
            });
        }
    }

    /// Loads the modules for a device.
    pub fn load_for(&self, modalias: &str) {
        for name in self.index.wanted(modalias) {
            self.load(name);
        }
    }

    /// Loads the modules for the devices of all buses in `folder` (`/sys/bus`) until no further devices appear. Network devices come
    /// first, because the machine waits for its address. Devices that a driver finds later are reported by [`crate::devices`].
    pub fn load_for_all(&self, folder: &Path) {
        let mut asked = BTreeSet::new();
        loop {
            let found = modaliases(folder);
            let mut new: Vec<String> = found.difference(&asked).cloned().collect();
            if new.iter().any(|modalias| is_network(modalias)) {
                new.retain(|modalias| is_network(modalias));
            }
            if new.is_empty() {
                return;
            }
            new.iter().for_each(|modalias| self.load_for(modalias));
            asked.extend(new);
        }
    }
}

/// Returns whether the device is a network controller on PCI (class 02) or virtio.
fn is_network(modalias: &str) -> bool {
    modalias.starts_with("virtio:d00000001") || modalias.starts_with("pci:") && modalias.contains("bc02sc")
}

/// Returns the modaliases of all devices of all buses.
fn modaliases(buses: &Path) -> BTreeSet<String> {
    let list =
        |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let devices = list(buses.to_owned()).flat_map(|bus| list(bus.join("devices")));
    let texts = devices.filter_map(|device| std::fs::read_to_string(device.join("modalias")).ok());
    texts.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

fn load(path: &Path) -> Result<()> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    match rustix::system::finit_module(&file, c"", 0) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error).context("the kernel refuses it"),
    }
}
