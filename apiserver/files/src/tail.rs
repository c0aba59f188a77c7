//! The end of a file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Returns the last bytes of a file, at most `most`, however large the file is and however fast it grows.
///
/// # Errors
/// The file cannot be read.
pub fn tail(mut file: File, most: usize) -> io::Result<Vec<u8>> {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    let start = file.metadata()?.len().saturating_sub(most);
    file.seek(SeekFrom::Start(start))?;
    let mut content = Vec::new();
    file.take(most).read_to_end(&mut content)?;
    Ok(content)
}
