//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use super::columns;
use crate::kind::{Kind, kind};
use crate::strategy::rules::{NONE, Rules};
use crate::subject::{NOTHING, Subject};

const GROUP: &str = "resource.k8s.io";

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject { kinds: &KINDS, columns: columns::of, ..NOTHING };

#[rustfmt::skip]
static KINDS: [Kind; 4] = [
    kind(GROUP, "DeviceClass", "deviceclasses", &[]).cluster().generation().returns_deleted(),
    kind(GROUP, "ResourceClaim", "resourceclaims", &[]).status().returns_deleted(),
    kind(GROUP, "ResourceClaimTemplate", "resourceclaimtemplates", &[]).returns_deleted(),
    kind(GROUP, "ResourceSlice", "resourceslices", &[]).cluster().generation().selectable(&["spec.nodeName", "spec.driver"]).returns_deleted()
        .rules(Rules { unknown_field: Some(unknown_field), ..NONE }),
];

fn unknown_field(field: &str) -> String {
    format!("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {field}")
}
