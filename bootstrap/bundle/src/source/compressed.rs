//! Archives that are compressed as a whole.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::read::MultiGzDecoder;

use crate::limits;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Opens an archive. If it is compressed, its content is a file without a name in `scratch`, so that all of it can be reached by offset.
///
/// # Errors
/// It cannot be read or decompressed, or expands too much.
pub(super) fn plain(path: &Path, scratch: &Path) -> Result<File> {
    let file = files::open(path).context("cannot be opened")?;
    let size = file.metadata().context("cannot be read")?.len();
    let mut magic = [0; 4];
    let count = file.read_at(&mut magic, 0).context("cannot be read")?;
    let magic = magic.get(..count).unwrap_or_default();
    let most = size.saturating_mul(limits::EXPANSION).saturating_add(limits::EXPANSION_FREE);
    if magic.starts_with(GZIP) {
        decompressed(MultiGzDecoder::new(file), most, scratch)
    } else if magic.starts_with(ZSTD) {
        decompressed(zstd::Decoder::new(file).context("cannot be decompressed")?, most, scratch)
    } else {
        Ok(file)
    }
}

fn decompressed(mut content: impl Read, most: u64, scratch: &Path) -> Result<File> {
    let cannot = || format!("cannot write a temporary file in {}", scratch.display());
    let mut file = tempfile::tempfile_in(scratch).with_context(cannot)?;
    let mut buffer = vec![0; 1 << 20];
    let mut length = 0;
    loop {
        let count = match content.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).context("cannot be decompressed: it is damaged or cut off"),
        };
        length += count as u64;
        ensure!(
            length <= most,
            "it expands to more than {most} bytes, which is more than archives of images do; if you trust it, decompress it first"
        );
        file.write_all(buffer.get(..count).unwrap_or_default()).with_context(cannot)?;
    }
    file.rewind().with_context(cannot)?;
    Ok(file)
}
