//! What the entries before a header say about it: long names, and the records of PAX.

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};
use tar::{EntryType, Header, PaxExtensions};

use crate::limits;

/// How the records with extended attributes begin, as GNU tar, Go and container tools write them.
const ATTRIBUTE: &[u8] = b"SCHILY.xattr.";

/// What the entries before a header say about it.
#[derive(Default)]
pub(crate) struct Extension {
    pub(crate) path: Option<Vec<u8>>,
    pub(crate) link: Option<Vec<u8>>,
    /// The numbers of the owner and of its group, where the header has no room for them.
    pub(crate) user: Option<u32>,
    pub(crate) group: Option<u32>,
    /// Extended attributes with their values.
    pub(crate) attributes: Vec<(String, Vec<u8>)>,
}

impl Extension {
    /// Reads an entry that only extends the next header; returns whether it was one.
    pub(crate) fn read(&mut self, header: &Header, content: &mut impl Read) -> Result<bool> {
        let kind = header.entry_type();
        let is_extension = matches!(
            kind,
            EntryType::GNULongName | EntryType::GNULongLink | EntryType::XHeader | EntryType::XGlobalHeader
        );
        if !is_extension {
            return Ok(false);
        }
        let mut bytes = Vec::new();
        content.take(limits::EXTENSION + 1).read_to_end(&mut bytes).context("it is cut off")?;
        ensure!(
            bytes.len() as u64 <= limits::EXTENSION,
            "its header has more than {} bytes",
            limits::EXTENSION
        );
        let text = |mut bytes: Vec<u8>| {
            bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
            Some(bytes)
        };
        match kind {
            EntryType::GNULongName => self.path = text(bytes),
            EntryType::GNULongLink => self.link = text(bytes),
            EntryType::XHeader => self.records(&bytes)?,
            _ => {}
        }
        Ok(true)
    }

    fn records(&mut self, bytes: &[u8]) -> Result<()> {
        for record in PaxExtensions::new(bytes) {
            let record = record.context("its PAX records are damaged")?;
            match record.key_bytes() {
                b"path" => self.path = Some(record.value_bytes().to_vec()),
                b"linkpath" => self.link = Some(record.value_bytes().to_vec()),
                b"size" => bail!("files of more than 8 GiB are not supported"),
                b"uid" => {
                    self.user = Some(number(record.value_bytes()).context("the record uid is no number")?)
                }
                b"gid" => {
                    self.group = Some(number(record.value_bytes()).context("the record gid is no number")?)
                }
                key if key.starts_with(b"GNU.sparse.") => bail!("sparse files are not supported"),
                key => {
                    let name = key.strip_prefix(ATTRIBUTE).and_then(|name| std::str::from_utf8(name).ok());
                    self.attributes.extend(name.map(|name| (name.to_owned(), record.value_bytes().to_vec())));
                }
            }
        }
        Ok(())
    }
}

fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
