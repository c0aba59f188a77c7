//! Sums an image while it is read. A thread of its own computes the sum, so that a machine with several processors does it while
//! others of its threads fetch, decompress and write.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use bytes::{Buf, Bytes};

use super::checksum::{Checksum, Hasher};

/// The pieces of an image, as they arrive.
pub type Pieces = Box<dyn Iterator<Item = io::Result<Bytes>> + Send>;

/// The number of pieces that the sum may be behind the reader.
const BEHIND: usize = 16;

/// A reader that passes on all bytes that it reads to [`ToSum::sum`].
pub struct Summed {
    pieces: Pieces,
    piece: Bytes,
    to: SyncSender<Bytes>,
}

/// The bytes to sum.
pub struct ToSum(Receiver<Bytes>);

impl Summed {
    /// Returns a reader of `pieces`, and the bytes that it will read.
    pub fn new(pieces: Pieces) -> (Self, ToSum) {
        let (to, bytes) = sync_channel(BEHIND);
        (Self { pieces, piece: Bytes::new(), to }, ToSum(bytes))
    }
}

impl Read for Summed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let Some(piece) = self.pieces.next() else { return Ok(0) };
            self.piece = piece?;
            // The thread that sums ends only after this reader.
            self.to.send(self.piece.clone()).map_err(io::Error::other)?;
        }
        let count = self.piece.len().min(buffer.len());
        self.piece.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}

impl ToSum {
    /// Sums the bytes until the reader is dropped.
    pub fn sum(self, checksum: &Checksum) -> Hasher {
        let mut hasher = checksum.hasher();
        for piece in self.0 {
            hasher.update(&piece);
        }
        hasher
    }
}
