//! Header blocks: names and values, compressed with zlib. All blocks that one side of a session sends are one zlib stream, so a block that
//! was not read makes all later ones unreadable.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::dictionary::{self, dictionary};
use crate::limits::{SPDY_HEADER_BLOCK, SPDY_HEADERS};

/// The largest window of zlib.
const WINDOW: usize = 32 * 1024;
/// The first bytes of our zlib stream: deflate with the largest window, and a dictionary whose ID follows.
const ZLIB: [u8; 2] = [0x78, 0xbb];
/// The flag in the second byte of a zlib stream which says that the ID of a dictionary follows.
const HAS_DICTIONARY: u8 = 0x20;
/// The most bytes that a block of deflate without compression can have.
const STORED_MAX: usize = 0xffff;

/// Names and values, in the order in which they are sent. Names are lower case. The values of a name are separated by zero bytes.
pub type Headers = Vec<(String, String)>;

/// What is wrong with a header block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not begin with a zlib header, or the dictionary is another one.
    #[error("the first header block has no zlib header with SPDY's dictionary")]
    Zlib,
    /// It is not compressed with deflate, or the compressed stream ends.
    #[error("a header block is not compressed correctly")]
    Deflate,
    /// It is longer than [`SPDY_HEADER_BLOCK`].
    #[error("a header block has more than {SPDY_HEADER_BLOCK} bytes")]
    TooLong,
    /// There are more than [`SPDY_HEADERS`] headers.
    #[error("a header block has more than {SPDY_HEADERS} headers")]
    TooMany,
    /// A length is wrong, or a name or value is not UTF-8.
    #[error("a header block does not consist of names and values")]
    Malformed,
    /// A name is empty, has an upper-case letter, or occurs twice.
    #[error("a header block has an empty name, one with an upper-case letter, or one that occurs twice")]
    Name,
}

/// Compresses header blocks. They are stored without compression, because a server sends almost empty ones.
#[derive(Debug, Default)]
pub struct Compressor {
    has_begun: bool,
}

impl Compressor {
    /// Returns the next compressed block.
    pub fn compress(&mut self, headers: &Headers) -> Vec<u8> {
        let mut plain = Vec::new();
        let mut put = |bytes: &[u8]| {
            plain.extend((bytes.len() as u32).to_be_bytes());
            plain.extend(bytes);
        };
        for (name, value) in headers {
            put(name.as_bytes());
            put(value.as_bytes());
        }
        plain.splice(0..0, (headers.len() as u32).to_be_bytes());
        let mut block = Vec::new();
        if !std::mem::replace(&mut self.has_begun, true) {
            block.extend(ZLIB);
            block.extend(dictionary::ID.to_be_bytes());
        }
        // The empty part at the end tells a decompressor that it can return all that it has.
        for part in plain.chunks(STORED_MAX).chain([&[][..]]) {
            let length = part.len() as u16;
            block.push(0);
            block.extend(length.to_le_bytes());
            block.extend((!length).to_le_bytes());
            block.extend(part);
        }
        block
    }
}

/// Decompresses header blocks.
pub struct Decompressor {
    inflate: Box<DecompressorOxide>,
    /// The last bytes of the decompressed stream, as a ring.
    window: Vec<u8>,
    position: usize,
    has_begun: bool,
}

impl Default for Decompressor {
    fn default() -> Self {
        Self { inflate: Box::default(), window: vec![0; WINDOW], position: 0, has_begun: false }
    }
}

impl Decompressor {
    /// Reads the next compressed block. After an error, later blocks cannot be read.
    ///
    /// # Errors
    /// The block is malformed or exceeds a limit.
    pub fn decompress(&mut self, block: &[u8]) -> Result<Headers, Error> {
        let block = if std::mem::replace(&mut self.has_begun, true) { block } else { self.begin(block)? };
        parse(&self.inflate(block)?)
    }

    /// Reads the zlib header, and returns what follows it.
    fn begin<'a>(&mut self, block: &'a [u8]) -> Result<&'a [u8], Error> {
        let ([method, flags], rest) = block.split_first_chunk().ok_or(Error::Zlib)?;
        let is_deflate = method & 0x0f == 8 && method >> 4 <= 7;
        if !is_deflate || !u16::from_be_bytes([*method, *flags]).is_multiple_of(31) {
            return Err(Error::Zlib);
        }
        if flags & HAS_DICTIONARY == 0 {
            return Ok(rest);
        }
        let (id, rest) = rest.split_first_chunk().ok_or(Error::Zlib)?;
        if u32::from_be_bytes(*id) != dictionary::ID {
            return Err(Error::Zlib);
        }
        let dictionary = dictionary();
        self.window[..dictionary.len()].copy_from_slice(&dictionary);
        self.position = dictionary.len();
        Ok(rest)
    }

    fn inflate(&mut self, mut block: &[u8]) -> Result<Vec<u8>, Error> {
        let mut plain = Vec::new();
        loop {
            let (window, start) = (&mut self.window, self.position);
            let (status, read, written) =
                decompress(&mut self.inflate, block, window, start, TINFL_FLAG_HAS_MORE_INPUT);
            plain.extend(&window[start..start + written]);
            block = &block[read..];
            self.position = (start + written) % WINDOW;
            if plain.len() > SPDY_HEADER_BLOCK {
                return Err(Error::TooLong);
            }
            match status {
                TINFLStatus::HasMoreOutput => {}
                TINFLStatus::NeedsMoreInput if block.is_empty() => return Ok(plain),
                _ => return Err(Error::Deflate),
            }
        }
    }
}

fn parse(plain: &[u8]) -> Result<Headers, Error> {
    let mut rest = plain;
    let count = number(&mut rest)?;
    if count > SPDY_HEADERS {
        return Err(Error::TooMany);
    }
    let mut headers = Headers::with_capacity(count);
    for _ in 0..count {
        let (name, value) = (text(&mut rest)?, text(&mut rest)?);
        let is_known = headers.iter().any(|(known, _)| *known == name);
        if is_known || name.is_empty() || name.chars().any(|letter| letter.is_ascii_uppercase()) {
            return Err(Error::Name);
        }
        headers.push((name, value));
    }
    if rest.is_empty() { Ok(headers) } else { Err(Error::Malformed) }
}

fn number(rest: &mut &[u8]) -> Result<usize, Error> {
    let (bytes, after) = rest.split_first_chunk().ok_or(Error::Malformed)?;
    *rest = after;
    Ok(u32::from_be_bytes(*bytes) as usize)
}

fn text(rest: &mut &[u8]) -> Result<String, Error> {
    let length = number(rest)?;
    let (bytes, after) = rest.split_at_checked(length).ok_or(Error::Malformed)?;
    *rest = after;
    String::from_utf8(bytes.to_vec()).map_err(|_| Error::Malformed)
}
