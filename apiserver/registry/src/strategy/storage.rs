//! Volumes and claims.

use super::known::{NONE, Rules};

/// `v1` PersistentVolume and PersistentVolumeClaim: new ones wait for a partner.
pub(super) const PENDING: Rules =
    Rules { prepare: |object| object["status"]["phase"] = "Pending".into(), ..NONE };
