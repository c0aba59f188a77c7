//! What `install-tools` has put there.

use std::path::{Path, PathBuf};

/// The files that machines boot, which `tests/netboot/install-tools` put there.
pub fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/netboot")
}
