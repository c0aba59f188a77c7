//! Makes OCI image layouts and archives for tests.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bundle::Digest;
use serde_json::{Value, json};
use tar::{EntryType, Header};

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(crate) const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// An OCI image layout in memory: files by path.
#[derive(Clone, Default)]
pub(crate) struct Layout {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) entries: Vec<Value>,
}

impl Layout {
    /// Adds a blob, and returns its descriptor.
    pub(crate) fn blob(&mut self, media_type: &str, content: impl Into<Vec<u8>>) -> Value {
        let content = content.into();
        let digest = Digest::of(&content);
        let descriptor = json!({"mediaType": media_type, "digest": digest, "size": content.len()});
        self.files.insert(digest.path(), content);
        descriptor
    }

    /// Adds an image for a platform with one layer, and returns the descriptor of its manifest.
    pub(crate) fn image(&mut self, architecture: &str, layer: &str) -> Value {
        let config = json!({"architecture": architecture, "os": "linux", "rootfs": {"diff_ids": [Digest::of(layer.as_bytes())]}});
        let config = self.blob(CONFIG, config.to_string());
        let layer = self.blob(LAYER, layer);
        let manifest =
            json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
        let mut manifest = self.blob(MANIFEST, manifest.to_string());
        manifest["platform"] = json!({"architecture": architecture, "os": "linux"});
        manifest
    }

    /// Adds an index, and returns its descriptor.
    pub(crate) fn index(&mut self, manifests: &[Value]) -> Value {
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests});
        self.blob(INDEX, index.to_string())
    }

    /// Adds a manifest about another one, for example a signature.
    pub(crate) fn referrer(&mut self, subject: &Value, artifact_type: &str) -> Value {
        let config = self.blob("application/vnd.oci.empty.v1+json", "{}");
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": artifact_type, "config": config, "layers": [],
            "subject": subject, "annotations": {"about": artifact_type},
        });
        self.blob(MANIFEST, manifest.to_string())
    }

    /// Adds an entry to `index.json`.
    pub(crate) fn name(&mut self, descriptor: &Value, name: &str) {
        let mut entry = descriptor.clone();
        if !name.is_empty() {
            entry["annotations"] = json!({"org.opencontainers.image.ref.name": name});
        }
        self.entries.push(entry);
    }

    /// Returns all files with `index.json`.
    pub(crate) fn all(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.files.clone();
        files.insert("oci-layout".into(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec());
        let index = json!({"schemaVersion": 2, "manifests": self.entries});
        files.entry("index.json".into()).or_insert_with(|| index.to_string().into_bytes());
        files
    }

    /// Writes the layout to a folder.
    pub(crate) fn folder(&self, path: &Path) -> PathBuf {
        for (name, content) in self.all() {
            let path = path.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        path.to_owned()
    }

    /// Returns the layout as a tar archive.
    pub(crate) fn archive(&self) -> Vec<u8> {
        let mut archive = Archive::default();
        for (name, content) in self.all() {
            archive.file(&name, &content);
        }
        archive.end()
    }
}

/// A tar archive, also one that no tool would write.
#[derive(Default)]
pub(crate) struct Archive(Vec<u8>);

impl Archive {
    pub(crate) fn file(&mut self, name: &str, content: &[u8]) -> &mut Self {
        self.entry(name, EntryType::Regular, content, content.len() as u64, "")
    }

    pub(crate) fn link(&mut self, name: &str, kind: EntryType, target: &str) -> &mut Self {
        self.entry(name, kind, b"", 0, target)
    }

    /// Adds an entry whose header says that its content has `size` bytes.
    pub(crate) fn entry(
        &mut self,
        name: &str,
        kind: EntryType,
        content: &[u8],
        size: u64,
        target: &str,
    ) -> &mut Self {
        let mut header = Header::new_gnu();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(size);
        header.as_mut_bytes()[157..157 + target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        self.0.extend(header.as_bytes());
        self.0.extend(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// Returns the archive with its end.
    pub(crate) fn end(&self) -> Vec<u8> {
        let mut bytes = self.0.clone();
        bytes.resize(bytes.len() + 1024, 0);
        bytes
    }

    /// Returns the archive without its end.
    pub(crate) fn open_end(&self) -> Vec<u8> {
        self.0.clone()
    }
}

/// Returns a layout with one image that is named `registry.example/a:1`.
pub(crate) fn plain() -> Layout {
    let mut layout = Layout::default();
    let image = layout.image("amd64", "content of the layer");
    layout.name(&image, "registry.example/a:1");
    layout
}
