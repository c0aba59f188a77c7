//! Packs the CustomResourceDefinitions of `manifests/` into one compressed file, which is a tenth of their size: name and text of each, in the
//! order of their names, each ended by a zero byte.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::PathBuf;

/// Compression level. The file is read at each start, and written once.
const LEVEL: i32 = 19;

#[allow(clippy::print_stdout, reason = "cargo reads it")]
fn main() -> Result<(), Error> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=manifests");
    let mut manifests = BTreeMap::new();
    for entry in std::fs::read_dir("manifests")? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).ok_or(ErrorKind::InvalidData)?;
        manifests.insert(name.to_owned(), std::fs::read_to_string(&path)?);
    }
    let text: String = manifests.iter().map(|(name, text)| format!("{name}\0{text}\0")).collect();
    let folder = std::env::var_os("OUT_DIR").ok_or(ErrorKind::NotFound)?;
    std::fs::write(PathBuf::from(folder).join("manifests.zst"), zstd::encode_all(text.as_bytes(), LEVEL)?)
}
