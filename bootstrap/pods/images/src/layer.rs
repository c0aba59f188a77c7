//! The content of a layer: decompressed, limited, and verified by both of its digests.

use std::io::{self, Read};

use anyhow::{Context, Result, ensure};
use bundle::{Descriptor, Digest, Hashing};
use flate2::read::MultiGzDecoder;

use crate::limits;

/// Calls `read` with the uncompressed content of a layer, and verifies afterwards that the whole blob has the digest of `descriptor`, and
/// its content the digest `content`. What `read` made of it is only valid if this function succeeds.
///
/// # Errors
/// A digest differs, the layer expands to more than `most` bytes or suspiciously far, its form is unknown, or `read` fails.
pub(crate) fn verified<T>(
    blob: impl Read,
    descriptor: &Descriptor,
    content: &Digest,
    most: u64,
    read: impl FnOnce(&mut dyn Read) -> Result<T>,
) -> Result<(T, u64)> {
    let mut blob = Hashing::new(blob.take(descriptor.size + 1));
    let expanded = descriptor.size.saturating_mul(limits::EXPANSION).saturating_add(limits::EXPANSION_FREE);
    let limit = most.min(expanded);
    let (value, digest, length) = {
        let decompressed: Box<dyn Read + '_> = match descriptor.media_type.rsplit_once(['+', '.']) {
            Some((_, "gzip")) => Box::new(MultiGzDecoder::new(&mut blob)),
            Some((_, "zstd")) => Box::new(zstd::Decoder::new(&mut blob).context("cannot be decompressed")?),
            Some((_, "tar")) => Box::new(&mut blob),
            _ => anyhow::bail!("its media type {:?} is not that of a layer", descriptor.media_type),
        };
        let mut limited = Hashing::new(decompressed.take(limit + 1));
        let value = read(&mut limited)?;
        // Digests cover everything, also what follows the end of the archive.
        io::copy(&mut limited, &mut io::sink())
            .context("cannot be read to its end: it is damaged or cut off")?;
        let (digest, length) = limited.end();
        (value, digest, length)
    };
    ensure!(length <= limit, "it expands to more than {limit} bytes");
    ensure!(
        digest == *content,
        "its content has the digest {digest}, and the config says {content}: it is damaged"
    );
    io::copy(&mut blob, &mut io::sink()).context("cannot be read to its end")?;
    let (digest, size) = blob.end();
    ensure!(
        size == descriptor.size,
        "it has {size} bytes or more, and its descriptor says {}",
        descriptor.size
    );
    ensure!(
        digest == descriptor.digest,
        "it has the digest {digest}, and should have {}: it is damaged",
        descriptor.digest
    );
    Ok((value, length))
}
