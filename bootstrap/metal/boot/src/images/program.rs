//! The files that this program needs to run elsewhere: its own file, the dynamic loader, and the loaded libraries, as the kernel lists
//! them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A file of a program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// An executable file.
    File {
        /// The path in the image.
        path: String,
        /// The path of its content on this machine.
        source: PathBuf,
    },
    /// A symbolic link.
    Link {
        /// The path of the link in the image.
        path: String,
        /// The path that the link points to.
        target: String,
    },
}

/// The memory map of the process, which names every loaded library.
const MAPS: &str = "/proc/self/maps";
/// The number of bytes of a program in which the name of its loader is searched.
const HEAD: u64 = 1 << 20;
/// The type of the program header that names the loader.
const PT_INTERP: u32 = 3;

/// Returns the files of this program for an image; the program itself has the path `path` in it.
///
/// # Errors
/// The system is not Linux, or a file cannot be read.
pub fn of_this_process(path: &str) -> Result<Vec<Entry>> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut head = Vec::new();
    File::open(&program)
        .and_then(|file| file.take(HEAD).read_to_end(&mut head))
        .with_context(|| format!("cannot read {}", program.display()))?;
    let mut entries = BTreeSet::from([Entry::File { path: path.into(), source: program }]);
    let Some(loader) = loader(&head) else {
        return if cfg!(target_os = "linux") {
            Ok(entries.into_iter().collect())
        } else {
            bail!("an image can be made on Linux only: it holds this program")
        };
    };
    let maps = std::fs::read_to_string(MAPS).with_context(|| format!("cannot read {MAPS}"))?;
    for library in libraries(&maps) {
        entries.extend(aliases(&library)?);
        entries.insert(Entry::File { path: text(&library)?, source: library });
    }
    let real = std::fs::canonicalize(&loader).with_context(|| format!("cannot find {loader}"))?;
    if real == Path::new(&loader) {
        entries.insert(Entry::File { path: loader, source: real });
    } else {
        entries.insert(Entry::File { path: text(&real)?, source: real.clone() });
        entries.insert(Entry::Link { path: loader, target: text(&real)? });
    }
    Ok(entries.into_iter().collect())
}

/// Decompresses a program that is embedded in another one with zstd.
///
/// # Errors
/// The compressed data are damaged.
pub fn decompressed(program: &[u8]) -> Result<Vec<u8>> {
    zstd::decode_all(program).context("the agent in this program is damaged: build it anew")
}

/// Returns the libraries in the memory map of a process.
pub fn libraries(maps: &str) -> BTreeSet<PathBuf> {
    let path = |line: &str| Some(line.get(line.find('/')?..)?.to_owned());
    let paths = maps.lines().filter_map(path);
    let library = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or_default();
        name.contains(".so") && !path.ends_with(" (deleted)")
    };
    paths.filter(library).map(PathBuf::from).collect()
}

/// Returns the other names of a library in its folder as links: programs ask for `libc.so.6`, and the file may be named `libc-2.31.so`.
fn aliases(library: &Path) -> Result<Vec<Entry>> {
    let (Some(folder), Some(name)) = (library.parent(), library.file_name()) else { return Ok(Vec::new()) };
    let listed = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut links = Vec::new();
    for entry in listed.flatten() {
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if is_link && std::fs::canonicalize(entry.path()).is_ok_and(|target| target == library) {
            links.push(Entry::Link {
                path: text(&entry.path())?,
                target: name.to_string_lossy().into_owned(),
            });
        }
    }
    Ok(links)
}

fn text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).with_context(|| format!("{} is no text", path.display()))
}

/// Returns the dynamic loader of a program; `None` if it needs none. Only ELF files of 64-bit little-endian machines are recognised.
pub fn loader(program: &[u8]) -> Option<String> {
    let number = |at: usize, length: usize| -> Option<u64> {
        let bytes = program.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let position = |number: u64| usize::try_from(number).ok();
    if program.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (table, size, count) = (position(number(32, 8)?)?, position(number(54, 2)?)?, number(56, 2)?);
    for index in 0..position(count)? {
        let at = table.checked_add(index.checked_mul(size)?)?;
        if number(at, 4)? == u64::from(PT_INTERP) {
            let (from, length) = (position(number(at + 8, 8)?)?, position(number(at + 32, 8)?)?);
            let name = program.get(from..from.checked_add(length)?)?;
            return Some(std::str::from_utf8(name).ok()?.trim_end_matches('\0').to_owned());
        }
    }
    None
}
