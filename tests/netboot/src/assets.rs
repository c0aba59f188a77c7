//! The folder of boot files.

use std::path::{Path, PathBuf};

/// Returns the folder with the boot files that `tests/netboot/install-tools` created.
pub fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/netboot")
}
