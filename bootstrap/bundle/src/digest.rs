//! SHA-256 digests, which identify blobs.

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;

use anyhow::{Error, Result, bail};
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The digest of a blob, written as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = Context::new(&SHA256);
        hash.update(bytes);
        Self::finish(hash)
    }

    /// Returns the 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the path of the blob in an OCI image layout.
    pub fn path(&self) -> String {
        format!("blobs/sha256/{}", self.hex())
    }

    fn finish(hash: Context) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(hash.finish().as_ref());
        Self(bytes)
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some(hex) = text.strip_prefix("sha256:") else {
            bail!("{text:?} is no digest with sha256, the only supported algorithm");
        };
        // `from_str_radix` alone would accept a sign, and upper case would give one blob two names.
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hex.len() != 64 || !hex.bytes().all(is_digit) {
            bail!("{text:?} is no digest: sha256: is followed by 64 hexadecimal digits in lower case");
        }
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits)?, 16)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A reader or writer that computes the digest and the length of everything that goes through it.
pub struct Hashing<T> {
    inner: T,
    hash: Context,
    length: u64,
}

impl<T> Hashing<T> {
    /// Begins with the first byte of `inner`.
    pub fn new(inner: T) -> Self {
        Self { inner, hash: Context::new(&SHA256), length: 0 }
    }

    /// Returns the digest and the length of all bytes that the caller has read or written.
    pub fn end(self) -> (Digest, u64) {
        let (_, digest, length) = self.into_parts();
        (digest, length)
    }

    /// Returns the reader or writer below, and the digest and the length of all bytes.
    pub fn into_parts(self) -> (T, Digest, u64) {
        (self.inner, Digest::finish(self.hash), self.length)
    }

    fn count(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.count(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
