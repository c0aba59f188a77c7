//! Checks of disks, arrays and filesystems.

use std::collections::BTreeSet;

use serde_json::Value;

use super::convert::PARTITION_TYPES;
use super::parts::{absolute, each, text};

/// The most letters of a partition's name.
const MAX_PARTITION_LABEL: usize = 36;
/// Filesystems that Ignition makes, and the most letters of their labels.
const FORMATS: &[(&str, usize)] = &[("ext4", 16), ("btrfs", 256), ("xfs", 12), ("swap", 15), ("vfat", 11)];
const WITHOUT_SPARES: &[&str] = &["linear", "raid0", "0", "stripe"];
const LEVELS: &[&str] = &["raid1", "1", "mirror", "raid4", "4", "raid5", "5", "raid6", "6", "raid10", "10"];
/// Lengths of the parts of a GUID.
const GUID: [usize; 5] = [8, 4, 4, 4, 12];

type Checked = Result<(), String>;

/// Checks disks, arrays and filesystems.
///
/// # Errors
/// Names the field that is wrong.
pub fn check(config: &Value, strict: bool) -> Checked {
    for (path, disk) in each(config, "storage", "disks") {
        absolute(&format!("{path}.device"), text(disk, "device"))?;
        let mut numbers = BTreeSet::new();
        for (index, partition) in disk["partitions"].as_array().into_iter().flatten().enumerate() {
            let path = format!("{path}.partitions[{index}]");
            let number = partition["number"].as_i64().unwrap_or_default();
            if number != 0 && !numbers.insert(number) {
                return Err(format!("{path}.number is already that of another partition"));
            }
            self::partition(&path, partition, strict)?;
        }
    }
    for (path, array) in each(config, "storage", "raid") {
        self::array(&path, array)?;
    }
    let mut names = BTreeSet::from(["root"]);
    for (path, filesystem) in each(config, "storage", "filesystems") {
        let name = text(filesystem, "name");
        if strict && !names.insert(name) {
            return Err(format!("{path}.name is already that of another filesystem"));
        }
        self::filesystem(&path, filesystem, strict)?;
    }
    Ok(())
}

fn partition(path: &str, partition: &Value, strict: bool) -> Checked {
    let label = text(partition, "label");
    if label.len() > MAX_PARTITION_LABEL {
        return Err(format!("{path}.label must not be longer than {MAX_PARTITION_LABEL} bytes"));
    }
    if strict && label.contains(':') {
        return Err(format!("{path}.label must not contain a colon"));
    }
    for field in ["guid", "type_guid"] {
        let guid = text(partition, field);
        let is_word = field == "type_guid" && PARTITION_TYPES.iter().any(|(word, _)| *word == guid);
        if !guid.is_empty() && !is_word && !is_guid(guid) {
            return Err(format!("{path}.{field} must have the form 01234567-89AB-CDEF-EDCB-A98765432101"));
        }
    }
    Ok(())
}

fn is_guid(text: &str) -> bool {
    let parts = text.split('-');
    parts.clone().map(str::len).eq(GUID) && parts.flat_map(str::chars).all(|digit| digit.is_ascii_hexdigit())
}

fn array(path: &str, array: &Value) -> Checked {
    let level = text(array, "level");
    let spares = array["spares"].as_i64().unwrap_or_default();
    if WITHOUT_SPARES.contains(&level) {
        if spares != 0 {
            return Err(format!("{path}.spares is not possible with the level {level}"));
        }
    } else if !LEVELS.contains(&level) {
        return Err(format!("{path}.level is not known: {level:?}"));
    }
    let devices = array["devices"].as_array().into_iter().flatten().enumerate();
    devices.into_iter().try_for_each(|(index, device)| {
        absolute(&format!("{path}.devices[{index}]"), device.as_str().unwrap_or_default())
    })
}

fn filesystem(path: &str, filesystem: &Value, strict: bool) -> Checked {
    let mount = &filesystem["mount"];
    match (mount.is_null(), filesystem["path"].is_null()) {
        (true, true) => return Err(format!("{path} must have mount or path")),
        (false, false) => return Err(format!("{path} can have only one of mount and path")),
        (true, false) => return absolute(&format!("{path}.path"), text(filesystem, "path")),
        (false, true) => {}
    }
    absolute(&format!("{path}.mount.device"), text(mount, "device"))?;
    let format = text(mount, "format");
    let known = FORMATS.iter().find(|(known, _)| *known == format);
    let (_, letters) = known.ok_or_else(|| format!("{path}.mount.format is not known: {format:?}"))?;
    if text(mount, "label").len() > *letters {
        return Err(format!("{path}.mount.label must not be longer than {letters} bytes with {format}"));
    }
    if mount["create"].is_null() {
        return Ok(());
    }
    if strict {
        return Err(format!("{path}.mount.create is obsolete: write its options into mount"));
    }
    let options = mount["options"].as_array().is_some_and(|options| !options.is_empty());
    if options || mount["wipe_filesystem"] == true {
        return Err(format!("{path}.mount cannot have create together with options or wipe_filesystem"));
    }
    Ok(())
}
