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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names and contents of an archive.
    fn unpack(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
        let (mut at, mut found) = (0, Vec::new());
        loop {
            let field = |n: usize| {
                usize::from_str_radix(
                    std::str::from_utf8(&archive[at + 6 + n * 8..at + 14 + n * 8]).unwrap(),
                    16,
                )
                .unwrap()
            };
            assert_eq!(&archive[at..at + 6], b"070701");
            let (size, name) = (field(6), field(11));
            let text = String::from_utf8(archive[at + 110..at + 110 + name - 1].to_vec()).unwrap();
            let content = (at + 110 + name).next_multiple_of(4);
            if text == "TRAILER!!!" {
                return found;
            }
            found.push((text, archive[content..content + size].to_vec()));
            at = (content + size).next_multiple_of(4);
        }
    }

    #[test]
    fn what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let kernel = folder.path().join("kernel/drivers/ata");
        std::fs::create_dir_all(&kernel).unwrap();
        std::fs::write(kernel.join("ahci.ko"), super::super::modules::tests::module(b"alias=pci:v*\0"))
            .unwrap();
        let modules = KernelModules::read(folder.path()).unwrap();
        let source = folder.path().join("program");
        std::fs::write(&source, b"program").unwrap();
        let program = [
            Entry::File { path: PROGRAM.into(), source },
            Entry::Link { path: "/lib64/ld.so".into(), target: "../lib/ld.so".into() },
        ];
        let configuration =
            Configuration { servers: vec!["https://10.0.0.1:1".into()], ..Configuration::default() };
        for compression in [Compression::Zstd, Compression::Gzip] {
            let mut packed = Vec::new();
            write(&mut packed, &program, &modules, &configuration, compression).unwrap();
            let mut archive = Vec::new();
            match compression {
                Compression::Zstd => archive = zstd::decode_all(&packed[..]).unwrap(),
                Compression::Gzip => {
                    let mut reader = flate2::read::GzDecoder::new(&packed[..]);
                    reader.read_to_end(&mut archive).unwrap();
                }
            }
            let found = unpack(&archive);
            let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            let expected = [
                "dev",
                "etc",
                "proc",
                "run",
                "sys",
                "tmp",
                "dev/console",
                "etc/firstlight",
                "etc/firstlight/agent.json",
                "etc/firstlight/modules.json",
                "lib",
                "lib/modules",
                "lib/modules/ahci.ko",
                "init",
                "lib64",
                "lib64/ld.so",
            ];
            assert_eq!(names, expected);
            let read: Configuration = serde_json::from_slice(&found[8].1).unwrap();
            assert_eq!(read, configuration);
            assert_eq!(
                (found[13].1.as_slice(), found[15].1.as_slice()),
                (&b"program"[..], &b"../lib/ld.so"[..])
            );
        }
    }
}
