//! Images of nodes in layouts and registries.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bundle::Digest;
use container_images::{Client, Credentials, Hosts, Registries, Sources};
use machinery::clock::Clock;
use node_images::{NodeImages, Options};
use parking_lot::Mutex;
use serde_json::{Value, json};
use system_containers::{Image, Images};
use tar::{Builder, EntryType, Header};

/// Files of an image: by path the mode and the content.
pub type Files = BTreeMap<&'static str, (u32, Vec<u8>)>;

/// Returns the files of a small image in the layout of kindest/node.
pub fn node() -> Files {
    let program = || (0o755, b"#!/bin/sh\n".to_vec());
    let mut files = Files::new();
    for path in [
        "usr/sbin/init",
        "usr/local/bin/entrypoint",
        "usr/bin/kubeadm",
        "usr/bin/kubelet",
        "usr/local/bin/containerd",
        "usr/local/bin/ctr",
        "usr/local/bin/crictl",
    ] {
        files.insert(path, program());
    }
    files.insert("kind/version", (0o644, b"v1.36.3\n".to_vec()));
    files
}

/// Returns a layer with these files, and the link of Debian from `/sbin` to `/usr/sbin`.
pub fn layer(files: &Files) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    let header = |kind, mode, size: usize| {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(1_700_000_000);
        header.set_size(size as u64);
        header
    };
    archive.append_link(&mut header(EntryType::Symlink, 0o777, 0), "sbin", "usr/sbin").unwrap();
    for (path, (mode, content)) in files {
        let mut header = header(EntryType::Regular, *mode, content.len());
        archive.append_data(&mut header, path, content.as_slice()).unwrap();
    }
    archive.into_inner().unwrap()
}

/// Returns the config of kind's images, with this layer.
pub fn config(layer: &[u8]) -> Value {
    let mut config = test_registry::config(&[layer], None);
    config["config"] = json!({
        "Entrypoint": ["/usr/local/bin/entrypoint", "/sbin/init"],
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "container=docker"],
    });
    config
}

/// Writes an OCI image layout with one image.
pub fn layout(folder: &Path, name: &str, config: &Value, layer: &[u8]) {
    fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
    let blob = |kind: &str, content: &[u8]| {
        fs::write(folder.join(Digest::of(content).path()), content).unwrap();
        json!({"mediaType": kind, "digest": Digest::of(content), "size": content.len()})
    };
    let config = blob("application/vnd.oci.image.config.v1+json", config.to_string().as_bytes());
    let layer = blob("application/vnd.oci.image.layer.v1.tar", layer);
    let manifest = json!({
        "schemaVersion": 2, "mediaType": bundle::IMAGE_MANIFEST, "config": config, "layers": [layer],
    });
    let mut manifest = blob(bundle::IMAGE_MANIFEST, manifest.to_string().as_bytes());
    manifest["annotations"] = json!({"io.containerd.image.name": name});
    let index = json!({"schemaVersion": 2, "mediaType": bundle::IMAGE_INDEX, "manifests": [manifest]});
    fs::write(folder.join("index.json"), index.to_string()).unwrap();
    fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
}

/// Makes a named pipe, to which nobody writes.
pub fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

/// A machine with a data directory and a folder of images.
pub struct Machine {
    pub folder: tempfile::TempDir,
    pub images: NodeImages,
    told: Arc<Mutex<Vec<String>>>,
}

impl Machine {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("local")).unwrap();
        let images = open(folder.path());
        Self { folder, images, told: Arc::default() }
    }

    /// The folder with `--container-images`.
    pub fn local(&self) -> PathBuf {
        self.folder.path().join("local")
    }

    /// Returns a later process.
    pub fn again(&self) -> NodeImages {
        open(self.folder.path())
    }

    /// Finds an image; the error is its whole text.
    pub async fn find(&self, name: &str) -> Result<Image, String> {
        let report = |line: &str| self.told.lock().push(line.to_owned());
        self.images.find(name, &report).await.map_err(|error| format!("{error:#}"))
    }

    /// Returns what was told since the last call.
    pub fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock())
    }
}

fn open(folder: &Path) -> NodeImages {
    let client = Client::new(Hosts::default(), Clock::system());
    let options = Options {
        data: folder.join("data"),
        sources: Sources::new(vec![folder.join("local")]),
        registries: Arc::new(Registries::new(client)),
        credentials: Credentials::default(),
        clock: Clock::system(),
    };
    NodeImages::open(options).unwrap()
}
