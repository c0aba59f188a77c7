//! Packs an initramfs of this program: a compressed cpio archive in the format `newc`.

use std::fs::File;
use std::io::{self, Read, Write};

use agent_protocol::modules::{FOLDER, INDEX};
use agent_protocol::{CONFIGURATION, Configuration};
use anyhow::{Context, Result, ensure};
use flate2::write::GzEncoder;

use super::modules::KernelModules;
use super::program::Entry;

/// The path of the program in an initramfs.
pub const PROGRAM: &str = "/init";
/// A higher level costs time to pack and gains little; unpacking is equally fast.
const ZSTD_LEVEL: i32 = 9;
/// Folders that must exist before the agent starts.
const FOLDERS: &[&str] = &["dev", "etc", "proc", "run", "sys", "tmp"];
const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM_FILE: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// The compression of an initramfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Supported by kernels since 5.9; the fastest.
    Zstd,
    /// Supported by all kernels.
    Gzip,
}

/// Writes an initramfs with `program` (see [`super::program::of_this_process`], as [`PROGRAM`]), the kernel's modules and the agent's
/// configuration. The same input gives the same bytes.
///
/// # Errors
/// A file cannot be read, or `out` cannot be written.
pub fn write(
    out: impl Write,
    program: &[Entry],
    modules: &KernelModules,
    configuration: &Configuration,
    compression: Compression,
) -> Result<()> {
    match compression {
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
            archive(&mut encoder, program, modules, configuration)?;
            encoder.finish()?.flush()?;
        }
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(out, flate2::Compression::default());
            archive(&mut encoder, program, modules, configuration)?;
            encoder.finish()?.flush()?;
        }
    }
    Ok(())
}

fn archive(
    out: &mut impl Write,
    program: &[Entry],
    modules: &KernelModules,
    configuration: &Configuration,
) -> Result<()> {
    let mut archive = Archive { out, number: 0, folders: Vec::new() };
    for folder in FOLDERS {
        archive.folder(folder)?;
    }
    // The kernel opens `/dev/console` for the first process before that process can mount `/dev`.
    archive.header("dev/console", CHARACTER_DEVICE, 0, (5, 1))?;
    archive.add(CONFIGURATION, FILE, &serde_json::to_vec(configuration)?)?;
    archive.add(INDEX, FILE, &serde_json::to_vec(&modules.index)?)?;
    for module in modules.contents() {
        let (name, content) = module?;
        archive.add(&format!("{FOLDER}/{name}"), FILE, &content)?;
    }
    for entry in program {
        match entry {
            Entry::File { path, source } => {
                let cannot = || format!("cannot read {}", source.display());
                let file = File::open(source).with_context(cannot)?;
                let size = file.metadata().with_context(cannot)?.len();
                archive.file(path, PROGRAM_FILE, size, file)?;
            }
            Entry::Link { path, target } => archive.add(path, LINK, target.as_bytes())?,
        }
    }
    archive.end()
}

struct Archive<W> {
    out: W,
    number: u32,
    folders: Vec<String>,
}

impl<W: Write> Archive<W> {
    /// Adds a file or link from memory, after its parent folders.
    fn add(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<()> {
        self.file(path, mode, content.len() as u64, content)
    }

    /// Adds a file from a reader, so that it is not held in memory.
    fn file(&mut self, path: &str, mode: u32, size: u64, content: impl Read) -> Result<()> {
        let path = path.trim_start_matches('/');
        for (at, _) in path.match_indices('/') {
            self.folder(&path[..at])?;
        }
        self.header(path, mode, size, (0, 0))?;
        let copied = io::copy(&mut content.take(size), &mut self.out)?;
        ensure!(copied == size, "{path} has become shorter while it was read");
        self.pad(size)
    }

    fn folder(&mut self, path: &str) -> Result<()> {
        if self.folders.iter().any(|known| known == path) {
            return Ok(());
        }
        self.folders.push(path.to_owned());
        self.header(path, DIRECTORY, 0, (0, 0))
    }

    fn header(&mut self, path: &str, mode: u32, size: u64, device: (u32, u32)) -> Result<()> {
        let size =
            u32::try_from(size).ok().with_context(|| format!("{path} is too large for an initramfs"))?;
        let name = path.len() as u32 + 1;
        self.number += 1;
        let (links, owner, time) = (1, 0, 0);
        let fields = [self.number, mode, owner, owner, links, time, size, 0, 0, device.0, device.1, name, 0];
        let mut header = String::from("070701");
        for field in fields {
            header.push_str(&format!("{field:08x}"));
        }
        self.out.write_all(header.as_bytes())?;
        self.out.write_all(path.as_bytes())?;
        self.out.write_all(&[0])?;
        self.pad((header.len() + path.len() + 1) as u64)
    }

    /// Pads to a multiple of four bytes, at which every part begins.
    fn pad(&mut self, length: u64) -> Result<()> {
        let zeros = length.next_multiple_of(4) - length;
        Ok(self.out.write_all(&[0; 4][..zeros as usize])?)
    }

    fn end(&mut self) -> Result<()> {
        self.header("TRAILER!!!", 0, 0, (0, 0))
    }
}
