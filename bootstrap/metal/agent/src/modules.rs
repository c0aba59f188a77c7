//! Kernel modules: which of them the machine's devices need, and in which order they are loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use anyhow::{Context, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::journal::Journal;

/// The path of the index in the initramfs.
pub const INDEX: &str = "/etc/firstlight/modules.json";
/// The folder of the modules in the initramfs.
pub const FOLDER: &str = "/lib/modules";

/// The index of the modules in an initramfs.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Index {
    /// All modules, including the dependencies of others.
    pub modules: Vec<Module>,
}

/// A kernel module, as its section `.modinfo` describes it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// The name, with underscores.
    pub name: String,
    /// The file below [`FOLDER`].
    pub path: String,
    /// The names of modules that must be loaded before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends: Vec<String>,
    /// The patterns of the devices (`MODALIAS`) that it drives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

impl Index {
    /// Returns the module `name` after all its dependencies, in load order; empty if the module is unknown.
    pub fn order(&self, name: &str) -> Vec<&Module> {
        let known: BTreeMap<&str, &Module> = self.modules.iter().map(|m| (m.name.as_str(), m)).collect();
        let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
        visit(&known, &plain_name(name), &mut seen, &mut order);
        order
    }

    /// Returns the names of the modules that drive a device with this `MODALIAS`.
    pub fn wanted(&self, modalias: &str) -> Vec<&str> {
        let drives = |module: &&Module| module.aliases.iter().any(|pattern| matches(pattern, modalias));
        self.modules.iter().filter(drives).map(|module| module.name.as_str()).collect()
    }
}

fn visit<'a>(
    known: &BTreeMap<&str, &'a Module>,
    name: &str,
    seen: &mut BTreeSet<String>,
    order: &mut Vec<&'a Module>,
) {
    let Some(module) = known.get(name) else { return };
    if !seen.insert(name.to_owned()) {
        return;
    }
    for dependency in &module.depends {
        visit(known, &plain_name(dependency), seen, order);
    }
    order.push(module);
}

/// Returns the name with underscores: the kernel treats dashes and underscores as equal.
pub fn plain_name(name: &str) -> String {
    name.replace('-', "_")
}

/// Returns whether a pattern of the kernel (`*`, `?`, `[a-z]`) matches the whole of `text`.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut from) = (0, 0);
    // The positions at which to retry if the text behind the last star does not match.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match one(pattern, at, text[from]) {
            Step::Next(next) => (at, from) = (next, from + 1),
            Step::Star => {
                star = Some((at + 1, from));
                at += 1;
            }
            Step::No => match star {
                Some((after, tried)) => {
                    star = Some((after, tried + 1));
                    (at, from) = (after, tried + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

enum Step {
    /// The character matches; the value is the next position in the pattern.
    Next(usize),
    Star,
    No,
}

fn one(pattern: &[u8], at: usize, byte: u8) -> Step {
    match pattern.get(at) {
        None => Step::No,
        Some(b'*') => Step::Star,
        Some(b'?') => Step::Next(at + 1),
        Some(b'[') => {
            let Some(length) = pattern[at..].iter().position(|byte| *byte == b']') else { return Step::No };
            let set = &pattern[at + 1..at + length];
            let range = set.windows(3).any(|w| w[1] == b'-' && (w[0]..=w[2]).contains(&byte));
            if range || set.contains(&byte) { Step::Next(at + length + 1) } else { Step::No }
        }
        Some(exact) if *exact == byte => Step::Next(at + 1),
        Some(_) => Step::No,
    }
}

/// The modules that have been tried. Two threads load modules: the one for the kernel's messages, and the one that enumerates devices.
#[derive(Default)]
struct Tried(Mutex<BTreeMap<String, Arc<Once>>>);

impl Tried {
    /// Runs `work` unless it was run for this name. If another thread is running it, waits for that thread: the kernel refuses a module
    /// whose dependencies are not loaded.
    fn once(&self, name: &str, work: impl FnOnce()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn module(name: &str, depends: &[&str], aliases: &[&str]) -> Module {
        let strings = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        Module {
            name: name.into(),
            path: format!("{name}.ko"),
            depends: strings(depends),
            aliases: strings(aliases),
        }
    }

    #[test]
    fn patterns_of_devices() {
        let cases = [
            ("pci:v00001AF4d*sv*sd*bc*sc*i*", "pci:v00001AF4d00001000sv00001AF4sd00000001bc02sc00i00", true),
            ("pci:v00001AF4d*", "pci:v00008086d00001000", false),
            ("virtio:d00000001v*", "virtio:d00000001v00001AF4", true),
            ("usb:v*p*d*dc*dsc*dp*ic08isc06ip50in*", "usb:v1p2d3dc00dsc00dp00ic08isc06ip50in00", true),
            ("acpi*:PNP0C0[A-F]:*", "acpi:PNP0C0B:", true),
            ("acpi*:PNP0C0[A-F]:*", "acpi:PNP0C09:", false),
            ("x?z", "xyz", true),
            ("x?z", "xz", false),
            ("", "", true),
            ("*", "", true),
            ("a", "", false),
            ("[", "x", false),
            ("a*b*c", "aXbYbc", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn what_another_thread_loads_is_waited_for() {
        let (tried, loaded) = (Tried::default(), Mutex::new(Vec::new()));
        let (begins, begun) = std::sync::mpsc::channel();
        let (ends, ended) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let (tried, loaded) = (&tried, &loaded);
            scope.spawn(move || {
                tried.once("net_failover", || {
                    begins.send(()).unwrap();
                    ended.recv().unwrap();
                    loaded.lock().push("net_failover");
                });
            });
            begun.recv().unwrap();
            let second = scope.spawn(|| {
                tried.once("net_failover", || loaded.lock().push("again"));
                tried.once("virtio_net", || loaded.lock().push("virtio_net"));
            });
            // Other modules are not blocked, and the module that depends on the first one is not loaded before it.
            tried.once("virtio_blk", || loaded.lock().push("virtio_blk"));
            assert!(!second.is_finished());
            ends.send(()).unwrap();
        });
        assert_eq!(*loaded.lock(), ["virtio_blk", "net_failover", "virtio_net"]);
    }

    #[test]
    fn dependencies_come_first_and_once() {
        let index = Index {
            modules: vec![
                module("virtio_net", &["net_failover", "virtio-ring"], &["virtio:d00000001v*"]),
                module("net_failover", &["failover"], &[]),
                module("failover", &[], &[]),
                module("virtio_ring", &["failover", "virtio_net"], &[]),
            ],
        };
        let names = |name: &str| index.order(name).iter().map(|m| m.name.clone()).collect::<Vec<_>>();
        // The dependency cycle through virtio_ring is broken.
        assert_eq!(names("virtio-net"), ["failover", "net_failover", "virtio_ring", "virtio_net"]);
        assert!(names("missing").is_empty());
        assert_eq!(index.wanted("virtio:d00000001v00001AF4"), ["virtio_net"]);
    }
}
