//! Makes archives of `docker save` with any content.

use std::io::Write;
use std::path::{Path, PathBuf};

use bundle::Digest;
use container_images::{Name, Sources, Store, Unpacked};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};

/// The name of all images here.
pub const NAME: &str = "registry.example/provider:v1";

/// An entry of a layer.
pub enum Entry<'a> {
    /// A folder.
    Folder(&'a str),
    /// A file with its content.
    File(&'a str, &'a str),
    /// A symbolic link and its target.
    Link(&'a str, &'a str),
    /// A hard link and its target.
    HardLink(&'a str, &'a str),
    /// A device file, which no image needs.
    Device(&'a str),
    /// A pipe with a name.
    Pipe(&'a str),
}

/// Returns the archive of a layer. Paths are written as they are, also those that no honest tool would write.
pub fn layer(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for entry in entries {
        let (path, kind, content, link) = match entry {
            Entry::Folder(path) => (path, EntryType::Directory, "", ""),
            Entry::File(path, content) => (path, EntryType::Regular, *content, ""),
            Entry::Link(path, target) => (path, EntryType::Symlink, "", *target),
            Entry::HardLink(path, target) => (path, EntryType::Link, "", *target),
            Entry::Device(path) => (path, EntryType::Block, "", ""),
            Entry::Pipe(path) => (path, EntryType::Fifo, "", ""),
        };
        let mut header = Header::new_ustar();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_uid(rustix::process::geteuid().as_raw().into());
        header.set_gid(rustix::process::getegid().as_raw().into());
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.append(&header, content.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap()
}

/// What is wrong with an archive.
#[derive(Default)]
pub struct Fault {
    /// Another architecture than that of this machine.
    pub architecture: Option<&'static str>,
    /// Changes the compressed layers after their digests were computed.
    pub spoil: Option<fn(&mut Vec<u8>)>,
    /// Changes the config.
    pub change: Option<fn(&mut Value)>,
}

/// Writes an archive with one image to `folder`.
pub fn archive(folder: &Path, layers: &[Vec<u8>], fault: &Fault) -> PathBuf {
    let own = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let mut config = json!({
        "architecture": fault.architecture.unwrap_or(own), "os": "linux",
        "config": {"User": "nonroot", "Env": ["PATH=/bin"], "Entrypoint": ["/manager"], "WorkingDir": "/data"},
        "rootfs": {"type": "layers", "diff_ids": layers.iter().map(|layer| Digest::of(layer)).collect::<Vec<_>>()},
    });
    if let Some(change) = fault.change {
        change(&mut config);
    }
    let path = folder.join("image.tar");
    let mut archive = Builder::new(std::fs::File::create(&path).unwrap());
    let mut add = |name: &str, content: &[u8]| {
        let mut header = Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, content).unwrap();
    };
    let names: Vec<String> = (0..layers.len()).map(|at| format!("{at}/layer.tar")).collect();
    for (name, layer) in names.iter().zip(layers) {
        let mut compressed = GzEncoder::new(Vec::new(), Compression::best());
        compressed.write_all(layer).unwrap();
        let mut compressed = compressed.finish().unwrap();
        if let Some(spoil) = fault.spoil {
            spoil(&mut compressed);
        }
        add(name, &compressed);
    }
    add("config.json", config.to_string().as_bytes());
    let manifest = json!([{"Config": "config.json", "RepoTags": [NAME], "Layers": names}]);
    add("manifest.json", manifest.to_string().as_bytes());
    archive.into_inner().unwrap();
    path
}

/// Unpacks the image of an archive; the error is its whole text.
pub fn unpack(folder: &Path, archive: &Path) -> Result<Unpacked, String> {
    let store = Store::open(&folder.join("images")).unwrap();
    let name: Name = NAME.parse().unwrap();
    let found = Sources::new(vec![archive.to_owned()]).find(&name, store.scratch());
    let (archive, image) = found.map_err(|error| format!("{error:#}"))?;
    store.unpack(&archive, &image).map_err(|error| format!("{error:#}"))
}
