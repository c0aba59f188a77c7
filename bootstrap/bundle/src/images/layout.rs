//! Images of an OCI image layout.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::{Content, Files, Platforms, Taken, Walk, referrers};
use crate::descriptor::{Descriptor, Document, IMAGE_INDEX, IMAGE_NAME, REF_NAME};
use crate::limits;
use crate::reference::{Reference, is_tag};
use crate::source::Source;

/// Returns the images of a source; `None` if the source is no OCI image layout.
pub(super) fn take(
    source: &Source,
    name: Option<&Reference>,
    platforms: &Platforms,
    files: Files,
) -> Result<Option<Taken>> {
    let Some(index) = source.small("index.json", limits::TABLE)? else { return Ok(None) };
    let own = Descriptor::of(IMAGE_INDEX, &index);
    let mut entries = Document::parse(&own, &index).context("index.json")?.manifests;
    entries.retain(|entry| files == Files::Refused || !entry.has_files());
    let fetch = |descriptor: &Descriptor| source.small(&descriptor.digest.path(), limits::DOCUMENT);
    let mut walk = Walk::new(&fetch, Some(platforms));
    let mut roots = Vec::new();
    let mut nameless = Vec::new();
    for entry in &entries {
        match named(entry, name).with_context(|| entry.digest.to_string())? {
            Some(reference) => {
                roots.push(visit(&mut walk, entry, &reference)?);
            }
            None => nameless.push(entry.clone()),
        }
    }
    let found = referrers(&mut walk, &nameless)?;
    nameless.retain(|entry| !walk.documents.contains_key(&entry.digest) && !is_referrer(source, entry));
    match (name, nameless.as_slice()) {
        (_, []) => {}
        (Some(name), [only]) if roots.is_empty() => {
            let tag = name.tag.clone().unwrap_or_else(|| "latest".to_owned());
            let name = Reference { tag: Some(tag), ..name.clone() };
            roots.push(visit(&mut walk, only, &name)?);
            roots.extend(referrers(&mut walk, &entries)?);
        }
        (_, [first, ..]) => bail!(
            "index.json has {}, which has no name: name the image, as registry.k8s.io/pause:3.10={}",
            first.digest,
            source.path().display()
        ),
    }
    roots.extend(found);
    ensure!(!roots.is_empty(), "index.json has no image");
    if let Some(name) = name.filter(|name| name.tag.is_some()) {
        let named = roots.iter().filter(|root| root.annotations.contains_key(IMAGE_NAME)).count();
        ensure!(named == 1, "it has {named} images, and {name} can be the name of one: leave out the tag");
    }
    Ok(Some(Taken { roots, blobs: blobs(source, walk)? }))
}

/// Visits an image, and returns its descriptor with its name and platform.
fn visit(walk: &mut Walk<'_>, entry: &Descriptor, name: &Reference) -> Result<Descriptor> {
    let visited = walk.visit(entry).and_then(|()| walk.platform(entry));
    let platform = visited.with_context(|| format!("the image {name}"))?;
    Ok(Descriptor { platform: platform.or(entry.platform.clone()), ..with_name(entry, name) })
}

/// Returns whether an entry is about another manifest, which may be one of another platform.
fn is_referrer(source: &Source, entry: &Descriptor) -> bool {
    let content = source.small(&entry.digest.path(), limits::DOCUMENT);
    let document = content.ok().flatten().and_then(|content| Document::parse(entry, &content).ok());
    document.is_some_and(|document| document.subject.is_some())
}

/// Returns the name of an entry: that of its annotations, or the given one, whose tag may be in the annotations.
fn named(entry: &Descriptor, given: Option<&Reference>) -> Result<Option<Reference>> {
    let tag = entry.annotations.get(REF_NAME).filter(|text| !text.is_empty());
    if let Some(given) = given {
        let own = tag.filter(|tag| is_tag(tag)).cloned();
        let Some(tag) = given.tag.clone().or(own) else { return Ok(None) };
        // Without annotations an entry may be a referrer, so a given name is not for each of them.
        let has_name = entry.annotations.contains_key(IMAGE_NAME) || entry.annotations.contains_key(REF_NAME);
        return Ok(has_name.then(|| Reference { repository: given.repository.clone(), tag: Some(tag) }));
    }
    match (entry.annotations.get(IMAGE_NAME), tag) {
        (Some(name), _) => name.parse().map(Some),
        (None, Some(name)) if !is_tag(name) => name.parse().map(Some),
        _ => Ok(None),
    }
}

/// Returns the descriptor of an image with its name in the form that containerd, skopeo and podman read.
pub(super) fn with_name(entry: &Descriptor, reference: &Reference) -> Descriptor {
    let name = reference.to_string();
    let annotations = BTreeMap::from([(IMAGE_NAME.to_owned(), name.clone()), (REF_NAME.to_owned(), name)]);
    Descriptor { annotations, ..entry.clone() }
}

/// Returns all blobs of a walk, after a look at whether they are there with their sizes.
fn blobs(source: &Source, walk: Walk<'_>) -> Result<BTreeMap<crate::Digest, (u64, Content)>> {
    let mut blobs = BTreeMap::new();
    for (digest, size) in walk.blobs {
        let name = digest.path();
        let file = source.file(&name)?.with_context(|| format!("{name} is missing"))?;
        ensure!(
            file.remaining() == size,
            "{name}: it has {} bytes, and its descriptor says {size}",
            file.remaining()
        );
        blobs.insert(digest, (size, Content::File(name)));
    }
    for (digest, read) in walk.documents {
        blobs.insert(digest, (read.descriptor.size, Content::Bytes(read.content)));
    }
    Ok(blobs)
}
