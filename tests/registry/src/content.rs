//! Content of registries: images, and what an archive of `docker save` has.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use bundle::{Digest, IMAGE_MANIFEST};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::State;

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const NO_CONFIG: &str = "application/vnd.oci.empty.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// Returns the config of an image with these layers, for this machine's architecture or another one.
pub fn config(layers: &[&[u8]], architecture: Option<&str>) -> Value {
    let own = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let digests: Vec<Digest> = layers.iter().map(|layer| Digest::of(layer)).collect();
    json!({
        "architecture": architecture.unwrap_or(own), "os": "linux", "config": {"Entrypoint": ["/manager"]},
        "rootfs": {"type": "layers", "diff_ids": digests},
    })
}

/// Adds an image with this config and these uncompressed layers under `repository:tag`, and returns the digest of its manifest.
pub fn image(state: &mut State, name: &str, config: &Value, layers: &[&[u8]]) -> Digest {
    let config = config.to_string().into_bytes();
    let descriptor = |media_type: &str, content: &[u8]| json!({"mediaType": media_type, "digest": Digest::of(content), "size": content.len()});
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": IMAGE_MANIFEST,
        "config": descriptor(CONFIG, &config),
        "layers": layers.iter().map(|layer| descriptor(LAYER, layer)).collect::<Vec<_>>(),
    });
    state.blob(config);
    for layer in layers {
        state.blob(layer.to_vec());
    }
    state.manifest(name, IMAGE_MANIFEST, manifest.to_string())
}

/// Adds an artifact with these files, by name and content, under `repository:tag`, and returns the digest of its manifest.
pub fn files<'a>(
    state: &mut State,
    name: &str,
    files: impl IntoIterator<Item = (&'a str, impl Into<Bytes>)>,
) -> Digest {
    let mut layers = Vec::new();
    for (title, content) in files {
        let content = content.into();
        layers.push(json!({
            "mediaType": "application/yaml", "size": content.len(), "digest": state.blob(content),
            "annotations": {"org.opencontainers.image.title": title},
        }));
    }
    let config = json!({"mediaType": NO_CONFIG, "digest": state.blob("{}"), "size": 2});
    let manifest =
        json!({"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": config, "layers": layers});
    state.manifest(name, IMAGE_MANIFEST, manifest.to_string())
}

/// Adds the image of an archive of `docker save` with uncompressed layers under `repository:tag`.
///
/// # Errors
/// It is no such archive.
pub fn layout(state: &mut State, name: &str, archive: &Path) -> Result<Digest> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut archive = tar::Archive::new(std::fs::File::open(archive)?);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let (path, mut content) = (entry.path()?.display().to_string(), Vec::new());
        entry.read_to_end(&mut content)?;
        files.insert(path, content);
    }
    let file = |path: &Value| files.get(path.as_str().unwrap_or_default()).context("a file is missing");
    let list: Value = serde_json::from_slice(file(&"manifest.json".into())?)?;
    let config: Value = serde_json::from_slice(file(&list[0]["Config"])?)?;
    let layers = list[0]["Layers"].as_array().into_iter().flatten().map(file);
    let layers: Vec<&[u8]> = layers.map(|layer| layer.map(Vec::as_slice)).collect::<Result<_>>()?;
    Ok(image(state, name, &config, &layers))
}
