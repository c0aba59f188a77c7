//! Finds the entries of a tar archive. Nothing is unpacked.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::os::unix::fs::FileExt;

use anyhow::{Context, Result, bail, ensure};
use tar::{EntryType, Header};

use crate::format::BLOCK;
use crate::{limits, names};

/// An entry that others may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A file at an offset of the archive.
    File {
        /// The offset of its content.
        offset: u64,
        /// Its size in bytes.
        size: u64,
    },
    /// A link to the entry with this path.
    Link(String),
}

/// What the entries before a header say about it.
#[derive(Default)]
struct Extension {
    path: Option<String>,
    link: Option<String>,
    size: Option<u64>,
}

/// Returns all files and links of an archive by their paths.
///
/// # Errors
/// The archive is damaged or cut off, has two files with one path, or an entry that no archive of images needs. The message names the entry.
pub(crate) fn scan(file: &File) -> Result<BTreeMap<String, Found>> {
    let length = file.metadata().context("cannot be read")?.len();
    let mut found = BTreeMap::new();
    let mut extension = Extension::default();
    let (mut at, mut count) = (0, 0);
    loop {
        let Some(header) = header_at(file, at, length)? else { return Ok(found) };
        count += 1;
        ensure!(count <= limits::ENTRIES, "it has more than {} entries", limits::ENTRIES);
        let raw = String::from_utf8_lossy(&header.path_bytes()).into_owned();
        let name = extension.path.clone().unwrap_or(raw);
        let place = || format!("{name} (at byte {at})");
        let of_header = header.entry_size().ok().with_context(place)?;
        let kind = header.entry_type();
        let is_extension = matches!(
            kind,
            EntryType::GNULongName | EntryType::GNULongLink | EntryType::XHeader | EntryType::XGlobalHeader
        );
        let size = if is_extension { of_header } else { extension.size.unwrap_or(of_header) };
        let content = at + BLOCK;
        let next = size.checked_next_multiple_of(BLOCK).and_then(|size| content.checked_add(size));
        let next = next.filter(|_| content.checked_add(size).is_some_and(|end| end <= length));
        let next = next.with_context(|| {
            format!("{name} (at byte {at}): it has {size} bytes, and the archive ends before: it is cut off")
        })?;
        if is_extension {
            extension.read(file, kind, content, size).with_context(place)?;
        } else {
            let told = std::mem::take(&mut extension);
            take(&mut found, &header, &name, told.link, (content, size)).with_context(place)?;
        }
        at = next;
    }
}

/// Returns the header at an offset, and `None` at the end of the archive.
fn header_at(file: &File, at: u64, length: u64) -> Result<Option<Header>> {
    let mut block = [0; BLOCK as usize];
    ensure!(
        at.checked_add(BLOCK).is_some_and(|end| end <= length),
        "it ends at byte {length} without the end of an archive: it is cut off"
    );
    file.read_exact_at(&mut block, at).context("cannot be read")?;
    if block.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let header = Header::from_byte_slice(&block).clone();
    // The checksum is computed with spaces in its own place.
    let own = |position: usize| (148..156).contains(&position);
    let sum: u32 =
        block.iter().enumerate().map(|(at, byte)| if own(at) { 32 } else { u32::from(*byte) }).sum();
    match header.cksum() {
        Ok(expected) if expected == sum => Ok(Some(header)),
        _ if at == 0 => bail!("it is no OCI image layout, and no tar archive, also none with gzip or zstd"),
        _ => bail!("at byte {at} is no header of an entry: it is damaged"),
    }
}

/// Adds an entry to those found.
fn take(
    found: &mut BTreeMap<String, Found>,
    header: &Header,
    name: &str,
    link: Option<String>,
    (offset, size): (u64, u64),
) -> Result<()> {
    let path = names::relative(name)?;
    let target = || match &link {
        Some(link) => link.clone(),
        None => {
            let link = header.link_name_bytes().unwrap_or_default();
            String::from_utf8_lossy(&link).into_owned()
        }
    };
    let entry = match header.entry_type() {
        EntryType::Directory => return Ok(()),
        EntryType::Regular | EntryType::Continuous => Found::File { offset, size },
        EntryType::Symlink => Found::Link(names::linked(&path, &target())?),
        EntryType::Link => Found::Link(names::relative(&target())?),
        other => bail!(
            "an archive of images has only files, folders and links, and this entry is of type {other:?}"
        ),
    };
    ensure!(!path.is_empty(), "an entry without a name");
    match found.entry(path) {
        Entry::Occupied(_) => bail!("the archive has two entries with this path"),
        Entry::Vacant(free) => free.insert(entry),
    };
    Ok(())
}

impl Extension {
    fn read(&mut self, file: &File, kind: EntryType, offset: u64, size: u64) -> Result<()> {
        ensure!(size <= limits::EXTENSION, "an extension of {size} bytes, more than {}", limits::EXTENSION);
        let mut content = vec![0; usize::try_from(size).unwrap_or_default()];
        file.read_exact_at(&mut content, offset).context("cannot be read")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
        match kind {
            EntryType::GNULongName => self.path = Some(text(&content)),
            EntryType::GNULongLink => self.link = Some(text(&content)),
            _ => {
                for (key, value) in records(&content)? {
                    self.record(&key, value, kind == EntryType::XGlobalHeader)?;
                }
            }
        }
        Ok(())
    }

    fn record(&mut self, key: &str, value: String, is_global: bool) -> Result<()> {
        match key {
            "path" | "linkpath" | "size" if is_global => bail!("the record {key} for all entries"),
            "path" => self.path = Some(value),
            "linkpath" => self.link = Some(value),
            "size" => self.size = Some(value.parse().with_context(|| format!("the size {value:?}"))?),
            key if key.starts_with("GNU.sparse") => bail!("a sparse file, which no archive of images has"),
            _ => {}
        }
        Ok(())
    }
}

/// Returns the records of a PAX header: `LENGTH KEY=VALUE` and a line feed each.
fn records(mut content: &[u8]) -> Result<Vec<(String, String)>> {
    let mut records = Vec::new();
    while !content.is_empty() {
        let one = || -> Option<(usize, String, String)> {
            let space = content.iter().position(|byte| *byte == b' ')?;
            let length: usize = std::str::from_utf8(content.get(..space)?).ok()?.parse().ok()?;
            let record = content.get(space + 1..length)?.strip_suffix(b"\n")?;
            let equals = record.iter().position(|byte| *byte == b'=')?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            Some((length, text(record.get(..equals)?), text(record.get(equals + 1..)?)))
        };
        let (length, key, value) = one().context("a damaged PAX header")?;
        records.push((key, value));
        content = content.get(length..).unwrap_or_default();
    }
    Ok(records)
}
