//! The volumes of a Pod: `content` computes what is in them, `folder` writes it.

mod content;
mod folder;
mod host_path;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;

use crate::plan::Written;

pub use content::{Content, Found, content};
pub use folder::write;

/// Writes all volumes of a Pod with the given address into the existing folder `folder`, and returns them by their names.
///
/// # Errors
/// An object or key that is not optional does not exist, or a volume is not supported or cannot be written.
pub fn write_all(
    folder: &Path,
    pod: &Pod,
    address: &str,
    found: &Found,
) -> Result<BTreeMap<String, Written>> {
    let spec = pod.spec.as_ref();
    let group = spec.and_then(|spec| spec.security_context.as_ref()).and_then(|context| context.fs_group);
    let group = group.and_then(|group| u32::try_from(group).ok());
    let volumes = spec.and_then(|spec| spec.volumes.as_ref()).into_iter().flatten();
    let written = volumes.map(|volume| {
        let content = content(volume, pod, address, found)?;
        Ok((volume.name.clone(), write(folder, &volume.name, &content, group)?))
    });
    written.collect()
}
