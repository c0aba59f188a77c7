//! Images of an archive that `docker save` made before its version 25, or a tool that writes the same form.

use std::collections::BTreeMap;
use std::io::{self, Read};

use anyhow::{Context, Result, bail, ensure};
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::{Value, json};

use super::layout::with_name;
use super::{Content, Platforms, Taken};
use crate::descriptor::{Descriptor, IMAGE_MANIFEST, Platform};
use crate::digest::{Digest, Hashing};
use crate::limits;
use crate::reference::Reference;
use crate::section::Section;
use crate::source::Source;

/// The media types of the blobs in an archive of `docker save`.
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// An image of `manifest.json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Image {
    config: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

/// Finds the images of the archive; `None` if it has no `manifest.json`. Their manifests are made here.
pub(super) fn take(
    source: &Source,
    name: Option<&Reference>,
    platforms: &Platforms,
) -> Result<Option<Taken>> {
    let Some(content) = source.small("manifest.json", limits::DOCUMENT)? else { return Ok(None) };
    let images: Vec<Image> =
        serde_json::from_slice(&content).context("manifest.json is not that of docker save")?;
    ensure!(!images.is_empty(), "manifest.json has no image");
    ensure!(
        name.is_none_or(|name| name.tag.is_none()) || images.len() == 1,
        "it has {} images, and one name cannot be that of all of them: leave out the tag",
        images.len()
    );
    let mut taken = Taken { roots: Vec::new(), blobs: BTreeMap::new() };
    for image in &images {
        let manifest =
            manifest(source, image, platforms, &mut taken).with_context(|| image.config.clone())?;
        let names = names(image, name).with_context(|| image.config.clone())?;
        ensure!(
            !names.is_empty(),
            "{} has no name: name the image, as registry.k8s.io/pause:3.10={}",
            image.config,
            source.path().display()
        );
        taken.roots.extend(names.iter().map(|name| with_name(&manifest, name)));
    }
    Ok(Some(taken))
}

fn names(image: &Image, given: Option<&Reference>) -> Result<Vec<Reference>> {
    let own = image.repo_tags.as_deref().unwrap_or_default();
    let own = own.iter().map(|name| name.parse()).collect::<Result<Vec<Reference>>>();
    Ok(match given {
        None => own?,
        Some(given) if given.tag.is_some() => vec![given.clone()],
        Some(given) => {
            let named = |own: Reference| Reference { repository: given.repository.clone(), tag: own.tag };
            own?.into_iter().map(named).collect()
        }
    })
}

/// Adds the blobs of an image, and returns the descriptor of the manifest that describes them.
fn manifest(source: &Source, image: &Image, platforms: &Platforms, taken: &mut Taken) -> Result<Descriptor> {
    let config = source.small(&image.config, limits::DOCUMENT)?.context("the config is missing")?;
    let facts: Value = serde_json::from_slice(&config).context("the config is no JSON")?;
    let text = |key: &str| facts[key].as_str().unwrap_or_default().to_owned();
    let platform = Platform { architecture: text("architecture"), os: text("os"), variant: None };
    ensure!(
        platforms.has(&platform),
        "it is an image for {}/{}, and not for {}",
        platform.os,
        platform.architecture,
        platforms.names()
    );
    let contents: Vec<Digest> = serde_json::from_value(facts["rootfs"]["diff_ids"].clone())
        .context("the config has no digests of the layers (rootfs.diff_ids)")?;
    ensure!(
        contents.len() == image.layers.len() && contents.len() <= limits::DESCRIPTORS,
        "the config has {} layers, and manifest.json {}",
        contents.len(),
        image.layers.len()
    );
    let mut layers = Vec::new();
    for (name, expected) in image.layers.iter().zip(&contents) {
        let layer = layer(source, name, expected).with_context(|| name.clone())?;
        taken.blobs.insert(layer.digest, (layer.size, Content::File(name.clone())));
        layers.push(layer);
    }
    let described = Descriptor::of(CONFIG, &config);
    let document = json!({
        "schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": described, "layers": layers,
    });
    let document = serde_json::to_vec(&document)?;
    let mut manifest = Descriptor::of(IMAGE_MANIFEST, &document);
    manifest.platform = Some(platform);
    taken.blobs.insert(described.digest, (described.size, Content::Bytes(config)));
    taken.blobs.insert(manifest.digest, (manifest.size, Content::Bytes(document)));
    Ok(manifest)
}

/// Reads a layer, and returns its descriptor. `expected` is the digest of its uncompressed content.
fn layer(source: &Source, name: &str, expected: &Digest) -> Result<Descriptor> {
    let open = || -> Result<Section> { source.file(name)?.context("the layer is missing") };
    let mut begin = Vec::new();
    open()?.take(2).read_to_end(&mut begin).context("cannot be read")?;
    let is_compressed = begin == [0x1f, 0x8b];
    let (digest, size) = digest(open()?)?;
    let content = if is_compressed {
        let most = size.saturating_mul(limits::EXPANSION).saturating_add(limits::EXPANSION_FREE);
        let (content, length) = self::digest(GzDecoder::new(open()?).take(most + 1))?;
        if length > most {
            bail!("it expands to more than {most} bytes");
        }
        content
    } else {
        digest
    };
    ensure!(content == *expected, "its content has the digest {content}, and the config says {expected}");
    let media_type = if is_compressed { LAYER_GZIP } else { LAYER };
    let (annotations, artifact_type, platform) = (BTreeMap::new(), None, None);
    Ok(Descriptor { media_type: media_type.to_owned(), digest, size, artifact_type, annotations, platform })
}

fn digest(content: impl Read) -> Result<(Digest, u64)> {
    let mut content = Hashing::new(content);
    io::copy(&mut content, &mut io::sink()).context("cannot be read")?;
    Ok(content.end())
}
