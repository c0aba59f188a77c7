//! The image as an OCI archive, which also has the `manifest.json` that older versions of Docker load.

use std::fs::File;
use std::io::{Read, Write};

use anyhow::{Context, Result};
use bundle::{Digest, IMAGE_INDEX, IMAGE_MANIFEST};
use chrono::{DateTime, SecondsFormat, Utc};
use container_images::Name;
use serde_json::{Value, json};
use tar::{Builder, Header};

use super::Recipe;
use super::layer::Layer;

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Writes the image, and returns the digest of its manifest.
///
/// # Errors
/// `out` fails.
pub(super) fn write(out: impl Write, recipe: &Recipe, name: &Name, layer: &Layer) -> Result<Digest> {
    let config = config(recipe, layer)?.to_string().into_bytes();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": IMAGE_MANIFEST,
        "config": described(CONFIG, &config),
        "layers": [{"mediaType": LAYER, "digest": layer.digest, "size": layer.size}],
    });
    let manifest = manifest.to_string().into_bytes();
    let full = name.to_string();
    let mut entry = described(IMAGE_MANIFEST, &manifest);
    entry["platform"] = json!({"architecture": bundle::architecture(), "os": "linux"});
    entry["annotations"] =
        json!({"io.containerd.image.name": full, "org.opencontainers.image.ref.name": full});
    let index = json!({"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": [entry]});
    let (id, digest) = (Digest::of(&config), Digest::of(&manifest));
    let docker = json!([{"Config": id.path(), "RepoTags": [full], "Layers": [layer.digest.path()]}]);
    let mut out = Builder::new(out);
    let cannot = "cannot write the image";
    for (path, content) in [
        ("oci-layout".to_owned(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()),
        ("index.json".to_owned(), index.to_string().into_bytes()),
        ("manifest.json".to_owned(), docker.to_string().into_bytes()),
        (id.path(), config),
        (digest.path(), manifest),
    ] {
        add(&mut out, &path, content.len() as u64, content.as_slice()).context(cannot)?;
    }
    let file = File::open(&layer.path).context("the layer cannot be read")?;
    add(&mut out, &layer.digest.path(), layer.size, file).context(cannot)?;
    out.into_inner().and_then(|mut out| out.flush()).context(cannot)?;
    Ok(digest)
}

fn config(recipe: &Recipe, layer: &Layer) -> Result<Value> {
    let time = DateTime::<Utc>::from_timestamp(recipe.time, 0);
    let time = time.with_context(|| format!("SOURCE_DATE_EPOCH={} is no time", recipe.time))?;
    let time = time.to_rfc3339_opts(SecondsFormat::Secs, true);
    Ok(json!({
        "created": time,
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

fn described(kind: &str, content: &[u8]) -> Value {
    json!({"mediaType": kind, "digest": Digest::of(content), "size": content.len()})
}

fn add(out: &mut Builder<impl Write>, path: &str, size: u64, content: impl Read) -> std::io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    out.append_data(&mut header, path, content)
}
