//! The limits of this crate.

use std::time::Duration;

/// How long the Deployments of a new version may take until they are available; then the old version is installed again.
pub const UPGRADE_WAIT: Duration = Duration::from_secs(300);
/// How long a reconcile may take: it downloads files and waits for an upgrade, and may undo it.
pub const RECONCILE: Duration = Duration::from_secs(1200);
/// The most bytes of compressed components after decompression. The components of a provider have a few megabytes.
pub const COMPONENTS_MAX: usize = 64 << 20;
