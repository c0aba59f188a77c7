//! The image as an OCI archive.

use std::fs::File;
use std::io::Write;

use anyhow::{Context, Result};
use bundle::{Descriptor, Digest, IMAGE_MANIFEST, Image};
use chrono::{DateTime, Utc};
use container_images::Name;
use machinery::clock::rfc3339;
use serde_json::{Value, json};

use super::Recipe;
use super::layer::Layer;
use crate::archive::{self, Named};

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Writes the image, and returns the digest of its manifest.
///
/// # Errors
/// `out` fails.
pub(super) fn write(out: impl Write, recipe: &Recipe, name: &Name, layer: &Layer) -> Result<Digest> {
    let config = config(recipe, layer)?.to_string().into_bytes();
    let described = Descriptor::of(CONFIG, &config);
    let layers = vec![Descriptor::new(LAYER, layer.digest, layer.size)];
    let document = json!({
        "schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": described, "layers": layers,
    });
    let document = document.to_string().into_bytes();
    let (manifest, id) = (Digest::of(&document), described.digest);
    let image = Image { manifest, media_type: IMAGE_MANIFEST.to_owned(), document, id, config, layers };
    let names = archive::names(name);
    let open = |_: &Descriptor| -> Result<Box<dyn std::io::Read>> {
        Ok(Box::new(File::open(&layer.path).context("the layer cannot be read")?))
    };
    let named = Named { image: &image, names: &names, open: Box::new(open) };
    archive::write(&[named], out).context("cannot write the image")?;
    Ok(manifest)
}

fn config(recipe: &Recipe, layer: &Layer) -> Result<Value> {
    let time = DateTime::<Utc>::from_timestamp(recipe.time, 0);
    let time = time.with_context(|| format!("SOURCE_DATE_EPOCH={} is no time", recipe.time))?;
    Ok(json!({
        "created": rfc3339(time),
        "architecture": bundle::architecture(),
        "os": "linux",
        "config": {
            "Entrypoint": ["/sbin/init"],
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "container=docker"],
            "Labels": {"org.opencontainers.image.version": recipe.kubernetes},
            // SIGRTMIN+3, at which systemd halts (systemd(1)).
            "StopSignal": "SIGRTMIN+3",
        },
        "rootfs": {"type": "layers", "diff_ids": [layer.content]},
        "history": [{"created": time, "created_by": "firstlight image node"}],
    }))
}
