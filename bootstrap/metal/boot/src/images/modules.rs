//! The modules of a kernel that a machine needs to reach its network and its disks, with their metadata.
//!
//! The metadata is read from each module's section `.modinfo`, so an unpacked kernel package is enough and `depmod` is not needed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use agent_protocol::modules::{Index, Module, plain_name};
use anyhow::{Context, Result, bail, ensure};

use crate::limits::MODULE_BYTES_MAX;

/// Folders and modules below `kernel/` that the agent may need on a machine.
const FOLDERS: &[&str] = &[
    "drivers/ata",
    "drivers/block/virtio_blk",
    "drivers/block/xen-blkfront",
    "drivers/bus",
    "drivers/char/tpm",
    "drivers/hv",
    "drivers/message/fusion",
    "drivers/mmc",
    "drivers/net/ethernet",
    "drivers/net/hyperv",
    "drivers/net/mdio",
    "drivers/net/phy",
    "drivers/net/virtio_net",
    "drivers/net/vmxnet3",
    "drivers/net/xen-netfront",
    "drivers/nvme/host",
    "drivers/pci",
    "drivers/scsi",
    "drivers/usb/host",
    "drivers/usb/storage",
    "drivers/virtio",
    "fs/efivarfs",
];
/// Modules in those folders that the agent never needs.
const LEFT_OUT: &[&str] =
    &["scsi_debug", "virtio_input", "virtio_balloon", "virtio_mem", "nvme_fc", "nvme_rdma", "nvme_tcp"];

/// The modules that go into an initramfs.
#[derive(Debug, Default)]
pub struct KernelModules {
    /// The index that the agent reads.
    pub index: Index,
    /// The files of the modules, in the order of the index.
    files: Vec<PathBuf>,
}

impl KernelModules {
    /// Reads the modules of a kernel from its folder `…/lib/modules/VERSION`.
    ///
    /// # Errors
    /// The folder does not exist, has no modules that are needed, or a module cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let kernel = folder.join("kernel");
        ensure!(
            kernel.is_dir(),
            "{} is no folder of a kernel's modules: it has no folder `kernel`",
            folder.display()
        );
        let mut known = BTreeMap::new();
        collect(&kernel, &mut known)?;
        let chosen = known
            .iter()
            .filter(|(name, path)| is_wanted(&kernel, path) && !LEFT_OUT.contains(&name.as_str()));
        let mut waiting: Vec<String> = chosen.map(|(name, _)| name.clone()).collect();
        let (mut seen, mut found) = (BTreeSet::new(), BTreeMap::new());
        while let Some(name) = waiting.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            // A dependency without a file is built into the kernel.
            let Some(path) = known.get(&name) else { continue };
            let content = content(path)?;
            let mut module =
                describe(&content).with_context(|| format!("{} is no kernel module", path.display()))?;
            waiting.extend(module.depends.iter().map(|name| plain_name(name)));
            module.path = format!("{name}.ko");
            module.name.clone_from(&name);
            found.insert(name, (module, path.clone()));
        }
        ensure!(!found.is_empty(), "{} has no modules for networks and disks", folder.display());
        let (modules, files) = found.into_values().unzip();
        Ok(Self { index: Index { modules }, files })
    }

    /// Returns the paths of the modules' files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the architecture of the modules (`x86_64`, `aarch64`).
    ///
    /// # Errors
    /// There are no modules, or the architecture is not supported.
    pub fn architecture(&self) -> Result<&'static str> {
        let first = self.files.first().context("there are no modules")?;
        // The field `e_machine` of the ELF header.
        match content(first)?.get(18..20) {
            Some([62, 0]) => Ok("x86_64"),
            Some([183, 0]) => Ok("aarch64"),
            _ => bail!("{} is for a machine that is not known; x86_64 and aarch64 are", first.display()),
        }
    }

    /// Iterates over the modules: the name below the folder of modules, and the content.
    pub fn contents(&self) -> impl Iterator<Item = Result<(&str, Vec<u8>)>> {
        let each = self.index.modules.iter().zip(&self.files);
        each.map(|(module, path)| Ok((module.path.as_str(), content(path)?)))
    }
}

fn is_wanted(kernel: &Path, path: &Path) -> bool {
    let below = path.strip_prefix(kernel).unwrap_or(path).to_string_lossy();
    FOLDERS.iter().any(|folder| below.strip_prefix(folder).is_some_and(|rest| rest.starts_with(['/', '.'])))
}

fn collect(folder: &Path, found: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), found)?;
        } else if let Some((stem, _)) = name.split_once(".ko") {
            found.insert(plain_name(stem), entry.path());
        }
    }
    Ok(())
}

/// Returns the decompressed content of a module of at most [`MODULE_BYTES_MAX`] bytes.
fn content(path: &Path) -> Result<Vec<u8>> {
    let read = || -> Result<Vec<u8>> {
        let file = std::fs::File::open(path)?;
        let reader: Box<dyn Read> = match path.extension().and_then(|extension| extension.to_str()) {
            Some("xz") => Box::new(lzma_rust2::XzReader::new(std::io::BufReader::new(file), true)),
            Some("zst") => Box::new(zstd::stream::read::Decoder::new(file)?),
            Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(file)),
            _ => Box::new(file),
        };
        at_most(reader, MODULE_BYTES_MAX)
    };
    read().with_context(|| format!("cannot read {}", path.display()))
}

/// Reads everything, if it has at most `most` bytes.
pub fn at_most(reader: impl Read, most: u64) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    reader.take(most.saturating_add(1)).read_to_end(&mut content)?;
    ensure!(
        content.len() as u64 <= most,
        "it has more than {} MiB: strip its debug information (`strip --strip-debug`), or remove the file if no machine needs it",
        most >> 20
    );
    Ok(content)
}

/// Returns the metadata of a module; `None` if it has no section `.modinfo`.
pub fn describe(module: &[u8]) -> Option<Module> {
    let information = section(module, b".modinfo")?;
    let mut described = Module::default();
    for field in information.split(|byte| *byte == 0).filter_map(|field| std::str::from_utf8(field).ok()) {
        let Some((name, value)) = field.split_once('=') else { continue };
        match name {
            "depends" => {
                described.depends.extend(value.split(',').filter(|name| !name.is_empty()).map(str::to_owned))
            }
            "softdep" => described.depends.extend(before(value)),
            "alias" => described.aliases.push(value.to_owned()),
            _ => {}
        }
    }
    Some(described)
}

/// Returns the modules `a` and `b` of a value like `pre: a b post: c`.
fn before(value: &str) -> impl Iterator<Item = String> {
    let mut is_before = false;
    value.split_whitespace().filter_map(move |word| {
        if word.ends_with(':') {
            is_before = word == "pre:";
            return None;
        }
        is_before.then(|| word.to_owned())
    })
}

/// Returns the content of a section of a 64-bit little-endian ELF file.
fn section<'a>(file: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let number = |at: usize, length: usize| -> Option<usize> {
        let bytes = file.get(at..at.checked_add(length)?)?;
        usize::try_from(bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte))).ok()
    };
    if file.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (table, size, count, names) =
        (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?, number(0x3e, 2)?);
    let header = |index: usize| table.checked_add(index.checked_mul(size)?);
    let content = |header: usize| {
        let (offset, length) = (number(header.checked_add(0x18)?, 8)?, number(header.checked_add(0x20)?, 8)?);
        file.get(offset..offset.checked_add(length)?)
    };
    let names = content(header(names)?)?;
    (0..count).find_map(|index| {
        let header = header(index)?;
        let name = names.get(number(header, 4)?..)?;
        let name = name.split(|byte| *byte == 0).next()?;
        (name == wanted).then(|| content(header)).flatten()
    })
}
