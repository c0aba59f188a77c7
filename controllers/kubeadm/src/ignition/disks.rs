//! Disks and filesystems.

use schemas::bootstrap::DiskSetup;
use serde_json::json;

use super::config::Config;

/// Writes the disks and filesystems. A disk with a layout gets one partition that fills it.
pub fn write(config: &mut Config, setup: Option<&DiskSetup>) {
    let Some(setup) = setup else { return };
    for partition in &setup.partitions {
        let mut disk = json!({"device": partition.device});
        if partition.overwrite == Some(true) {
            disk["wipeTable"] = true.into();
        }
        if partition.layout == Some(true) {
            disk["partitions"] = json!([{}]);
        }
        config.push("storage", "disks", disk);
    }
    for filesystem in &setup.filesystems {
        let label = filesystem.label.as_deref().unwrap_or_default();
        let mut mount = json!({
            "device": filesystem.device,
            "format": filesystem.filesystem,
            "wipeFilesystem": filesystem.overwrite == Some(true),
        });
        if !label.is_empty() {
            mount["label"] = label.into();
        }
        if !filesystem.extra_opts.is_empty() {
            mount["options"] = json!(filesystem.extra_opts);
        }
        config.push("storage", "filesystems", json!({"name": label, "mount": mount}));
    }
}
