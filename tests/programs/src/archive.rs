//! An archive of container images in OCI's image layout.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

/// A file of a layer.
pub(super) enum Content<'a> {
    /// The content of this file. It is executable.
    Of(&'a Path),
    /// A symbolic link to this path.
    Link(&'a str),
    /// An empty folder.
    Folder,
}

/// A layer, whose archive has been written.
pub(super) struct Layer {
    digest: String,
    size: usize,
}

/// An archive that is being written.
pub(super) struct Archive {
    builder: Builder<File>,
    written: BTreeSet<String>,
    index: Vec<Value>,
}

impl Archive {
    /// Creates the file `path`.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("{}", path.display()))?;
        Ok(Self { builder: Builder::new(file), written: BTreeSet::new(), index: Vec::new() })
    }

    /// Adds a layer with these files, by their paths in the container. Parent folders are added.
    pub(super) fn layer(&mut self, files: &[(String, Content<'_>)]) -> Result<Layer> {
        let mut layer = Builder::new(Vec::new());
        for folder in parents(files) {
            add(&mut layer, &folder, EntryType::Directory, &[])?;
        }
        for (path, content) in files {
            let path = path.trim_start_matches('/');
            match content {
                Content::Of(source) => {
                    let content = std::fs::read(source).with_context(|| format!("{}", source.display()))?;
                    add(&mut layer, path, EntryType::Regular, &content)?;
                }
                Content::Link(target) => {
                    let mut header = header(EntryType::Symlink, 0);
                    layer.append_link(&mut header, path, target)?;
                }
                Content::Folder => add(&mut layer, path, EntryType::Directory, &[])?,
            }
        }
        let bytes = layer.into_inner()?;
        Ok(Layer { size: bytes.len(), digest: self.blob(&bytes)? })
    }

    /// Adds the image `name` of these layers, which starts `entrypoint`.
    pub(super) fn image(&mut self, name: &str, layers: &[&Layer], entrypoint: &str) -> Result<()> {
        let digests: Vec<&str> = layers.iter().map(|layer| layer.digest.as_str()).collect();
        let configuration = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": [entrypoint], "Env": ["PATH=/usr/local/bin:/usr/sbin:/usr/bin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": digests},
        });
        let configuration = self.json("application/vnd.oci.image.config.v1+json", &configuration)?;
        let layers: Vec<Value> = layers
            .iter()
            .map(|layer| descriptor("application/vnd.oci.image.layer.v1.tar", &layer.digest, layer.size))
            .collect();
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest =
            json!({"schemaVersion": 2, "mediaType": media_type, "config": configuration, "layers": layers});
        let mut entry = self.json(media_type, &manifest)?;
        entry["annotations"] = json!({"io.containerd.image.name": name});
        entry["platform"] = json!({"architecture": "amd64", "os": "linux"});
        self.index.push(entry);
        Ok(())
    }

    /// Writes the index.
    pub(super) fn finish(mut self) -> Result<()> {
        let index = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": self.index,
        });
        add(&mut self.builder, "index.json", EntryType::Regular, index.to_string().as_bytes())?;
        let layout = json!({"imageLayoutVersion": "1.0.0"});
        add(&mut self.builder, "oci-layout", EntryType::Regular, layout.to_string().as_bytes())?;
        self.builder.finish()?;
        Ok(())
    }

    fn json(&mut self, media_type: &str, value: &Value) -> Result<Value> {
        let bytes = value.to_string().into_bytes();
        let digest = self.blob(&bytes)?;
        Ok(descriptor(media_type, &digest, bytes.len()))
    }

    /// Adds content, once, and returns its digest.
    fn blob(&mut self, bytes: &[u8]) -> Result<String> {
        let sum = crate::hexadecimal(&Sha256::digest(bytes));
        if self.written.insert(sum.clone()) {
            add(&mut self.builder, &format!("blobs/sha256/{sum}"), EntryType::Regular, bytes)?;
        }
        Ok(format!("sha256:{sum}"))
    }
}

fn descriptor(media_type: &str, digest: &str, size: usize) -> Value {
    json!({"mediaType": media_type, "digest": digest, "size": size})
}

/// Returns the parent folders of all files, each after its own parent.
fn parents(files: &[(String, Content<'_>)]) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for (path, _) in files {
        let mut folder = path.trim_start_matches('/');
        while let Some((above, _)) = folder.rsplit_once('/') {
            folders.insert(format!("{above}/"));
            folder = above;
        }
    }
    folders
}

fn add(builder: &mut Builder<impl io::Write>, path: &str, kind: EntryType, content: &[u8]) -> Result<()> {
    Ok(builder.append_data(&mut header(kind, content.len()), path, content)?)
}

fn header(kind: EntryType, size: usize) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o755);
    header.set_size(size as u64);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}
