//! A file as a list of its parts, so that large files are neither copied nor held in memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};

/// A part of a file.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Bytes in memory.
    Bytes(Arc<[u8]>),
    /// The first bytes of another file.
    File {
        /// The path of the file.
        path: PathBuf,
        /// The number of bytes from its start.
        length: u64,
    },
    /// Zeros of this length.
    Zeros(u64),
}

impl Piece {
    /// Returns a piece that is a whole file.
    ///
    /// # Errors
    /// The metadata of the file cannot be read.
    pub fn file(path: &Path) -> Result<Self> {
        let length =
            std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
        Ok(Self::File { path: path.to_owned(), length })
    }

    /// Returns the length in bytes.
    #[allow(clippy::len_without_is_empty, reason = "a piece may be empty and nobody asks")]
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { length, .. } | Self::Zeros(length) => *length,
        }
    }
}

impl From<Vec<u8>> for Piece {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

/// A file as a list of pieces.
#[derive(Clone, Debug, Default)]
pub struct Pieces(Vec<Piece>);

impl Pieces {
    /// Appends a piece.
    pub fn push(&mut self, piece: impl Into<Piece>) {
        self.0.push(piece.into());
    }

    /// Appends all pieces of another file.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Pads with zeros to a multiple of `block` bytes.
    pub fn pad(&mut self, block: u64) {
        let over = self.len() % block;
        if over > 0 {
            self.push(Piece::Zeros(block - over));
        }
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> u64 {
        self.0.iter().map(Piece::len).sum()
    }

    /// Returns whether the length is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a reader of `length` bytes from `offset` on, or fewer at the end of the file.
    pub fn range(&self, offset: u64, length: u64) -> impl Read + Send + use<> {
        let end = offset.saturating_add(length).min(self.len());
        Range { pieces: self.clone(), at: offset, end, open: None }
    }

    /// Writes the whole file to `out`.
    ///
    /// # Errors
    /// A piece cannot be read, or `out` cannot be written.
    pub fn write(&self, out: &mut impl Write) -> Result<()> {
        let written = io::copy(&mut self.range(0, u64::MAX), out).context("cannot write the image")?;
        anyhow::ensure!(written == self.len(), "a file that the image is made of has become shorter");
        Ok(())
    }

    /// Returns the piece at `offset`, its number, and the offset within it.
    fn find(&self, offset: u64) -> Option<(usize, &Piece, u64)> {
        let mut start = 0;
        for (number, piece) in self.0.iter().enumerate() {
            if offset < start + piece.len() {
                return Some((number, piece, offset - start));
            }
            start += piece.len();
        }
        None
    }
}

struct Range {
    pieces: Pieces,
    at: u64,
    end: u64,
    /// The open file of the piece with this number, positioned where the next read begins.
    open: Option<(usize, File)>,
}

impl Read for Range {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_sub(self.at);
        let Some((number, piece, from)) = self.pieces.find(self.at) else { return Ok(0) };
        let count = usize::try_from(left.min(piece.len() - from)).unwrap_or(usize::MAX).min(buffer.len());
        let buffer = &mut buffer[..count];
        let read = match piece {
            Piece::Zeros(_) => {
                buffer.fill(0);
                count
            }
            Piece::Bytes(bytes) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX);
                buffer.copy_from_slice(&bytes[from..from + count]);
                count
            }
            Piece::File { path, .. } => {
                let mut file = match self.open.take() {
                    Some((open, file)) if open == number => file,
                    _ => {
                        let mut file = File::open(path)?;
                        file.seek(SeekFrom::Start(from))?;
                        file
                    }
                };
                let read = file.read(buffer)?;
                self.open = Some((number, file));
                read
            }
        };
        self.at += read as u64;
        Ok(read)
    }
}
