//! An image as an OCI archive, as containerd imports it, with the list of images that Docker before version 25 reads instead.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use anyhow::{Context, Result, ensure};
use bundle::{Archive, Descriptor, Hashing, Image};
use container_images::{Name, layout};
use serde_json::{Value, json};
use tar::{Builder, Header};

/// Returns the names under which a container runtime looks for an image that somebody calls `name`: with its tag, and with its digest.
pub(crate) fn names(name: &Name) -> Vec<String> {
    let repository = &name.reference.repository;
    let tag = name.reference.tag.as_ref().map(|tag| format!("{repository}:{tag}"));
    let digest = name.digest.as_ref().map(|digest| format!("{repository}@{digest}"));
    tag.into_iter().chain(digest).collect()
}

/// An image that is written, with the names that it gets.
pub(crate) struct Named<'a> {
    pub(crate) image: &'a Image,
    pub(crate) names: &'a [String],
    /// Opens a layer.
    pub(crate) open: Box<Open<'a>>,
}

type Open<'a> = dyn Fn(&Descriptor) -> Result<Box<dyn Read + 'a>> + 'a;

impl<'a> Named<'a> {
    /// Returns an image of an archive with these names.
    pub(crate) fn of(archive: &'a Archive, image: &'a Image, names: &'a [String]) -> Self {
        Self { image, names, open: Box::new(|layer| archive.layer(layer)) }
    }
}

/// Writes images, with each blob once. Their layers are verified on their way.
///
/// # Errors
/// A layer is missing or damaged, or `out` fails.
pub(crate) fn write(images: &[Named<'_>], out: impl Write) -> Result<()> {
    let mut out = Builder::new(out);
    let index = layout::index(images.iter().map(|named| (named.image, named.names)));
    add(&mut out, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    add(&mut out, "index.json", index.to_string().as_bytes())?;
    add(&mut out, "manifest.json", for_docker(images).to_string().as_bytes())?;
    let mut written = BTreeSet::new();
    for Named { image, names, open } in images {
        let label = || names.first().cloned().unwrap_or_default();
        for (digest, content) in [(image.manifest, &image.document), (image.id, &image.config)] {
            if written.insert(digest) {
                add(&mut out, &digest.path(), content)?;
            }
        }
        for layer in &image.layers {
            if written.insert(layer.digest) {
                let copied = open(layer).and_then(|content| copy(&mut out, content, layer));
                copied.with_context(|| format!("the image {}: the layer {}", label(), layer.digest))?;
            }
        }
    }
    out.into_inner()?.flush()?;
    Ok(())
}

/// Returns the list of images in the form of `docker save`, where only tags are names.
fn for_docker(images: &[Named<'_>]) -> Value {
    let entry = |Named { image, names, .. }: &Named<'_>| {
        let layers: Vec<String> = image.layers.iter().map(|layer| layer.digest.path()).collect();
        let tags: Vec<&String> = names.iter().filter(|name| !name.contains('@')).collect();
        json!({"Config": image.id.path(), "RepoTags": tags, "Layers": layers})
    };
    images.iter().map(entry).collect()
}

fn add(out: &mut Builder<impl Write>, path: &str, content: &[u8]) -> Result<()> {
    let mut header = header(content.len() as u64);
    Ok(out.append_data(&mut header, path, content)?)
}

fn copy(out: &mut Builder<impl Write>, content: impl Read, layer: &Descriptor) -> Result<()> {
    let mut content = Hashing::new(content.take(layer.size));
    let mut header = header(layer.size);
    out.append_data(&mut header, layer.digest.path(), &mut content)?;
    io::copy(&mut content, &mut io::sink())?;
    let (digest, length) = content.end();
    ensure!(length == layer.size, "it has {length} bytes, and its descriptor says {}", layer.size);
    ensure!(digest == layer.digest, "its content has the digest {digest}: it is damaged");
    Ok(())
}

fn header(size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header
}
