//! An image as an OCI archive, as containerd imports it.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use anyhow::{Context, Result, ensure};
use bundle::{Archive, Descriptor, Hashing, Image};
use container_images::{Name, layout};
use tar::{Builder, Header};

/// Returns the names under which a container runtime looks for an image that somebody calls `name`: with its tag, and with its digest.
pub(crate) fn names(name: &Name) -> Vec<String> {
    let repository = &name.reference.repository;
    let tag = name.reference.tag.as_ref().map(|tag| format!("{repository}:{tag}"));
    let digest = name.digest.as_ref().map(|digest| format!("{repository}@{digest}"));
    tag.into_iter().chain(digest).collect()
}

/// Writes an image of `archive` with these names. Its layers are verified on their way.
///
/// # Errors
/// A layer is missing or damaged, or `out` fails.
pub(crate) fn write(archive: &Archive, image: &Image, names: &[String], out: impl Write) -> Result<()> {
    let mut out = Builder::new(out);
    add(&mut out, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    add(&mut out, "index.json", layout::index(image, names).to_string().as_bytes())?;
    add(&mut out, &image.manifest.path(), &image.document)?;
    add(&mut out, &image.id.path(), &image.config)?;
    let mut written = BTreeSet::from([image.manifest, image.id]);
    for layer in &image.layers {
        if written.insert(layer.digest) {
            copy(&mut out, archive, layer).with_context(|| format!("the layer {}", layer.digest))?;
        }
    }
    out.into_inner()?.flush()?;
    Ok(())
}

fn add(out: &mut Builder<impl Write>, path: &str, content: &[u8]) -> Result<()> {
    let mut header = header(content.len() as u64);
    Ok(out.append_data(&mut header, path, content)?)
}

fn copy(out: &mut Builder<impl Write>, archive: &Archive, layer: &Descriptor) -> Result<()> {
    let mut content = Hashing::new(archive.layer(layer)?.take(layer.size));
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
