//! Recognises an image's format and compression by its first bytes, and decompresses it.

use std::io::{self, BufReader, Read};

use anyhow::{Context, Result, bail};

/// The buffer size of the decompressors.
const BUFFER: usize = 256 << 10;
/// The largest window of zstd that its ordinary tools support (`--long=31`).
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
/// The number of bytes that distinguish all formats.
const FIRST: usize = 8;

/// A reader whose first bytes can be examined before they are read.
pub struct Peeked<R> {
    first: Vec<u8>,
    at: usize,
    rest: R,
}

impl<R: Read> Peeked<R> {
    /// Reads the first bytes.
    ///
    /// # Errors
    /// Errors of the reader.
    pub fn new(mut rest: R) -> io::Result<Self> {
        let mut first = Vec::new();
        rest.by_ref().take(FIRST as u64).read_to_end(&mut first)?;
        Ok(Self { first, at: 0, rest })
    }

    /// Returns the first bytes, fewer if the input is shorter.
    pub fn first(&self) -> &[u8] {
        &self.first
    }
}

impl<R: Read> Read for Peeked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = &self.first[self.at..];
        if left.is_empty() {
            return self.rest.read(buffer);
        }
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.at += count;
        Ok(count)
    }
}

/// The format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The raw content of a disk.
    Raw,
    /// QEMU's qcow2.
    Qcow2,
}

/// Returns the format of an uncompressed image.
///
/// # Errors
/// The format is not supported, or differs from `said` (`spec.image.format`).
pub fn format(first: &[u8], said: &str) -> Result<Format> {
    let found = match first {
        [b'Q', b'F', b'I', 0xfb, ..] => Format::Qcow2,
        [b'K', b'D', b'M', b'V', ..] => bail!("the image is a VMDK; convert it: qemu-img convert -O raw"),
        [b'c', b'o', b'n', b'e', b'c', b't', b'i', b'x', ..] => {
            bail!("the image is a VHD; convert it: qemu-img convert -O raw")
        }
        [b'<', b'<', b'<', b' ', ..] => bail!("the image is a VDI; convert it: qemu-img convert -O raw"),
        [b'<', b'!', ..] | [b'<', b'h', b't', b'm', ..] => {
            bail!("what spec.image.url gives is a web page and no image")
        }
        [b'B', b'Z', b'h', ..] => bail!("the image is compressed with bzip2; use zstd, xz or gzip"),
        [] => bail!("the image is empty"),
        _ => Format::Raw,
    };
    match (said, found) {
        ("", _) | ("raw", Format::Raw) | ("qcow2", Format::Qcow2) => Ok(found),
        ("raw" | "qcow2", _) => bail!("spec.image.format is {said}, and the image is not"),
        _ => bail!("spec.image.format {said:?} cannot be written to a disk; raw and qcow2 can"),
    }
}

/// Returns whether an image is compressed with gzip, xz or zstd.
pub fn is_compressed(first: &[u8]) -> bool {
    matches!(first, [0x1f, 0x8b, ..] | [0xfd, b'7', b'z', b'X', b'Z', 0, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..])
}

/// Returns the decompressed content of an image.
///
/// # Errors
/// The decompressor cannot be set up.
pub fn content<'a, R: Read + Send + 'a>(image: Peeked<R>) -> Result<Box<dyn Read + Send + 'a>> {
    Ok(match image.first() {
        [0x1f, 0x8b, ..] => {
            Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BUFFER, image)))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            Box::new(lzma_rust2::XzReader::new(BufReader::with_capacity(BUFFER, image), true))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut decoder =
                zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(BUFFER, image))
                    .context("the image cannot be unpacked (zstd)")?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
        _ => Box::new(image),
    })
}
