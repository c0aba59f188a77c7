//! An image that was pulled, as an OCI image layout in a folder.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use bundle::Image;
use serde_json::{Value, json};

/// The file that makes a folder a layout. It is written when everything else is there.
pub(crate) const INDEX: &str = "index.json";
/// The folder of the blobs.
pub(crate) const BLOBS: &str = "blobs/sha256";

/// Returns the `index.json` of a layout with these images, each with its names. containerd reads the first annotation, other tools the second.
pub fn index<'a>(images: impl IntoIterator<Item = (&'a Image, &'a [String])>) -> Value {
    let entry = |image: &Image, name: &String| {
        json!({
            "mediaType": image.media_type, "digest": image.manifest, "size": image.document.len(),
            "annotations": {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name},
        })
    };
    let entries =
        images.into_iter().flat_map(|(image, names)| names.iter().map(move |name| entry(image, name)));
    json!({
        "schemaVersion": 2,
        "mediaType": bundle::IMAGE_INDEX,
        "manifests": entries.collect::<Vec<_>>(),
    })
}

/// Adds everything except the layers, which are there already.
///
/// # Errors
/// The disk is full.
pub(crate) fn complete(folder: &Path, image: &Image, names: &[String]) -> Result<()> {
    let write = |name: &str, content: &[u8]| files::write(&folder.join(name), 0o600, content);
    fs::create_dir_all(folder.join(BLOBS)).with_context(|| format!("cannot make {}", folder.display()))?;
    write(&image.id.path(), &image.config)?;
    write(&image.manifest.path(), &image.document)?;
    write("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    write(INDEX, index([(image, names)]).to_string().as_bytes())
}
