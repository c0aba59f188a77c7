//! Benchmark of the registry: three nodes fetch the layer of an image at the same time.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use machinery::clock::Clock;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::files::fetch;
use super::pair::Pair;
use super::place::{PEER, SERVER, command, pinned};
use crate::bench::Bench;

const NODES: usize = 3;
const LAYER_BYTES: usize = 200 << 20;
const NAME: &str = "registry.example/team/app";

/// A bundle with one image, and the path of its layer in a registry.
pub struct Bundled {
    /// The bundle.
    pub file: PathBuf,
    layer: PathBuf,
    path: String,
}

impl Bundled {
    /// Makes the bundle in `folder`.
    pub async fn new(bench: &Bench, folder: &Path) -> Result<Self> {
        let (layout, file) = (folder.join("layout"), folder.join("site.bundle"));
        let blobs = layout.join("blobs/sha256");
        fs::create_dir_all(&blobs)?;
        let content: Vec<u8> = (0..LAYER_BYTES).map(|at| (at / 7 % 251) as u8).collect();
        let layer = blob(&blobs, &content, "application/vnd.oci.image.layer.v1.tar")?;
        let digest = layer["digest"].as_str().unwrap_or_default().to_owned();
        let config = json!({
            "architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": [digest]},
        });
        let config = blob(&blobs, config.to_string().as_bytes(), "application/vnd.oci.image.config.v1+json")?;
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest =
            json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": [layer]});
        let mut manifest = blob(&blobs, manifest.to_string().as_bytes(), media_type)?;
        manifest["annotations"] = json!({"org.opencontainers.image.ref.name": format!("{NAME}:v1")});
        fs::write(layout.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string())?;
        fs::write(
            layout.join("index.json"),
            json!({"schemaVersion": 2, "manifests": [manifest]}).to_string(),
        )?;
        let text = |path: &Path| path.to_str().map(str::to_owned).context("a path is no text");
        let arguments = ["bundle", "create", &text(&file)?, "--platform", "linux/amd64", &text(&layout)?];
        command(&text(&bench.binary)?, &arguments).await?;
        let path = format!("v2/{NAME}/blobs/{digest}");
        Ok(Self { file, layer: blobs.join(digest.trim_start_matches("sha256:")), path })
    }

    /// Measures both servers. The peer serves the folder `served`, with the layer as a file at the path of the registry.
    pub async fn run(&self, bench: &Bench, served: &Path) -> Result<()> {
        let file = served.join(&self.path);
        fs::create_dir_all(file.parent().context("a folder")?)?;
        fs::copy(&self.layer, file)?;
        let name = format!("registry, a layer of 200 MiB to {NODES} nodes at once");
        let mut pair = Pair::new(name, "MB/s");
        for _ in 0..bench.rounds {
            pair.peer.push(self.rate(PEER, &bench.clock).await?);
            pair.ours.push(self.rate(SERVER, &bench.clock).await?);
        }
        pair.print();
        Ok(())
    }

    async fn rate(&self, server: std::net::Ipv4Addr, clock: &Clock) -> Result<f64> {
        let begun = clock.monotonic();
        let fetches = (0..NODES).map(|_| {
            let path = self.path.clone();
            pinned(move || fetch(server, &path, LAYER_BYTES))
        });
        futures::future::try_join_all(fetches).await?;
        Ok((NODES * LAYER_BYTES) as f64 / 1e6 / (clock.monotonic() - begun).as_secs_f64())
    }
}

/// Writes a blob. Returns its descriptor.
fn blob(blobs: &Path, content: &[u8], media_type: &str) -> Result<Value> {
    let digest: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(blobs.join(&digest), content)?;
    Ok(json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": content.len()}))
}
