//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use super::{claim, class, columns, volume, warnings};
use crate::kind::{Kind, kind};
use crate::subject::{NOTHING, Subject};

const GROUP: &str = "storage.k8s.io";

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject =
    Subject { kinds: &KINDS, columns: columns::of, warnings: warnings::of, ..NOTHING };

#[rustfmt::skip]
static KINDS: [Kind; 8] = [
    kind("", "PersistentVolume", "persistentvolumes", &["pv"]).cluster().status().returns_deleted().metadata_repeats(2, 2).rules(volume::VOLUME),
    kind("", "PersistentVolumeClaim", "persistentvolumeclaims", &["pvc"]).status().returns_deleted().metadata_repeats(2, 2).rules(claim::CLAIM),
    kind(GROUP, "CSIDriver", "csidrivers", &[]).cluster().conditional().returns_deleted(),
    kind(GROUP, "CSINode", "csinodes", &[]).cluster().conditional().returns_deleted(),
    kind(GROUP, "CSIStorageCapacity", "csistoragecapacities", &[]).conditional(),
    kind(GROUP, "StorageClass", "storageclasses", &["sc"]).cluster().returns_deleted().rules(class::STORAGE),
    kind(GROUP, "VolumeAttachment", "volumeattachments", &[]).cluster().status().conditional().returns_deleted(),
    kind(GROUP, "VolumeAttributesClass", "volumeattributesclasses", &["vac"]).cluster().returns_deleted().metadata_repeats(2, 2),
];
