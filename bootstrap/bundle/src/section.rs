//! A part of an open file.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A reader of `length` bytes of a file from an offset on. The file's own position is not used, so sections share it.
#[derive(Clone, Debug)]
pub struct Section {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Section {
    /// Returns the section of `length` bytes from `offset` on.
    pub fn new(file: Arc<File>, offset: u64, length: u64) -> Self {
        Self { file, at: offset, end: offset.saturating_add(length) }
    }

    /// Returns the bytes that are not read yet.
    pub fn remaining(&self) -> u64 {
        self.end - self.at
    }
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = usize::try_from(self.remaining()).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read_at(buffer.get_mut(..count).unwrap_or_default(), self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
