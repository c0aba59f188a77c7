//! The journal: it records on disk what a pivot is about to do, before the pivot does it.
//!
//! A file of lines: length of the record, its CRC-32, the record as JSON. An incomplete last line comes from a write that a crash cut
//! off and is ignored; anything else that does not fit is damage and refused.

mod disk;
mod record;

pub use disk::{Disk, FileDisk, MemoryDisk};
pub use record::{Before, Header, Record, State, Verified};

use crate::error::{Error, Result};
use crate::limits;

/// An open journal and the state that its records give.
pub struct Journal {
    disk: Box<dyn Disk>,
    state: State,
}

impl Journal {
    /// Reads the journal on `disk`; an empty or missing one is a journal without records.
    ///
    /// # Errors
    /// The disk fails or the file is damaged.
    pub fn open(mut disk: Box<dyn Disk>) -> Result<Self> {
        let path = disk.path();
        let failed = |source| Error::Disk { path: path.clone(), source };
        let content = disk.read().map_err(failed)?;
        let (records, whole) = read(&content).map_err(|(offset, why)| Error::Damaged {
            path: path.clone(),
            offset: offset as u64,
            why,
        })?;
        if whole < content.len() {
            disk.truncate(whole as u64).map_err(failed)?;
        }
        let mut state = State::default();
        records.into_iter().for_each(|record| state.take(record));
        Ok(Self { disk, state })
    }

    /// Returns the state that the records give so far.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the path of the journal, for messages.
    pub fn path(&self) -> String {
        self.disk.path()
    }

    /// Appends a record. When this returns, the record survives a crash.
    ///
    /// # Errors
    /// The disk fails; the record does not count then.
    pub fn append(&mut self, record: Record) -> Result<()> {
        let path = self.disk.path();
        let failed = |source| Error::Disk { path: path.clone(), source };
        let line = line(&record).map_err(|error| failed(std::io::Error::other(error)))?;
        self.disk.append(&line).map_err(failed)?;
        self.state.take(record);
        Ok(())
    }

    /// Sets a finished journal aside, so that the next pivot begins a new one.
    ///
    /// # Errors
    /// The disk fails.
    pub fn set_aside(&mut self) -> Result<()> {
        let path = self.disk.path();
        self.disk.set_aside().map_err(|source| Error::Disk { path, source })?;
        self.state = State::default();
        Ok(())
    }
}

fn line(record: &Record) -> Result<Vec<u8>, serde_json::Error> {
    let text = serde_json::to_string(record)?;
    Ok(format!("{} {:08x} {text}\n", text.len(), crc32fast::hash(text.as_bytes())).into_bytes())
}

/// Returns the complete records and their length in bytes. A rest after them was cut off by a crash.
fn read(content: &[u8]) -> Result<(Vec<Record>, usize), (usize, &'static str)> {
    let mut records = Vec::new();
    let mut offset = 0;
    while offset < content.len() {
        let rest = &content[offset..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { break };
        // After a crash a file may already have its new length while its last bytes are still zero.
        if rest[..end].contains(&0) && rest[end + 1..].iter().all(|byte| *byte == 0) {
            break;
        }
        records.push(parse(&rest[..end]).map_err(|why| (offset, why))?);
        offset += end + 1;
    }
    if content[offset..].len() > limits::RECORD {
        return Err((offset, "a record without an end"));
    }
    Ok((records, offset))
}

fn parse(line: &[u8]) -> Result<Record, &'static str> {
    let line = std::str::from_utf8(line).map_err(|_| "it is no text")?;
    let mut parts = line.splitn(3, ' ');
    let (Some(length), Some(checksum), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
        return Err("it is no record");
    };
    if length.parse() != Ok(text.len()) {
        return Err("its length is another");
    }
    if u32::from_str_radix(checksum, 16) != Ok(crc32fast::hash(text.as_bytes())) {
        return Err("its checksum is another");
    }
    serde_json::from_str(text).map_err(|_| "this version does not know such a record")
}
