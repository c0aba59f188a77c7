//! Checks all of a bundle.

use std::collections::BTreeMap;
use std::io;

use anyhow::{Context, Result};

use crate::descriptor::{Descriptor, IMAGE_NAME};
use crate::digest::Hashing;
use crate::files::{self, FileKind};
use crate::format::{Bundle, INDEX, LAYOUT, LAYOUT_CONTENT, Place, TABLE, TRAILER, whole};
use crate::images::{Walk, referrers};
use crate::section::Section;
use crate::source::{Found, scan};

/// Reads the whole bundle, checks the digest of every blob, that the archive has the blobs of the table and no others, and that images and
/// artifacts are complete. Returns a line for each problem.
///
/// # Errors
/// The file cannot be read, or is no tar archive.
pub fn verify(bundle: &Bundle) -> Result<Vec<String>> {
    let cannot = || format!("{} cannot be verified", bundle.path().display());
    let mut problems = Vec::new();
    archive(bundle, &mut problems).with_context(cannot)?;
    for digest in bundle.table().keys() {
        let Some(section) = bundle.blob(digest) else { continue };
        let mut content = Hashing::new(section);
        match io::copy(&mut content, &mut io::sink()) {
            Ok(_) => {
                let (found, _) = content.end();
                if found != *digest {
                    problems.push(format!(
                        "{}: its content has the digest {found}: it is damaged",
                        digest.path()
                    ));
                }
            }
            Err(error) => problems.push(format!("{}: {error}", digest.path())),
        }
    }
    images(bundle, &mut problems);
    for kind in FileKind::ALL {
        if let Err(error) = files::read(bundle, kind) {
            problems.push(format!("{}: {error:#}", kind.name()));
        }
    }
    Ok(problems)
}

/// Compares the entries of the archive, which other tools read, with the table, which this program reads.
fn archive(bundle: &Bundle, problems: &mut Vec<String>) -> Result<()> {
    let entries = scan(bundle.file())?;
    let place = |found: &Found| match found {
        Found::File { offset, size } => Some(Place { offset: *offset, size: *size }),
        Found::Link(_) => None,
    };
    let mut expected: BTreeMap<String, Option<Place>> =
        bundle.table().iter().map(|(digest, place)| (digest.path(), Some(*place))).collect();
    let trailer = bundle.trailer();
    expected.insert(INDEX.to_owned(), Some(trailer.index.0));
    expected.insert(TABLE.to_owned(), Some(trailer.table.0));
    for (name, found) in &entries {
        match expected.remove(name) {
            // The trailer was read when the bundle was opened.
            None if name == TRAILER => {}
            None if name == LAYOUT => {
                let content =
                    place(found).map(|place| Section::new(bundle.file().clone(), place.offset, place.size));
                if content.and_then(|content| whole(content).ok()).as_deref() != Some(LAYOUT_CONTENT) {
                    problems.push(format!("{name}: it is damaged"));
                }
            }
            None => problems.push(format!("{name}: the archive has it, and the table does not")),
            Some(told) if told == place(found) => {}
            Some(_) => problems.push(format!("{name}: the archive has it elsewhere than the table says")),
        }
    }
    problems
        .extend(expected.keys().map(|name| format!("{name}: the table has it, and the archive does not")));
    Ok(())
}

/// Checks that all manifests are valid, and that all blobs that they name are there.
fn images(bundle: &Bundle, problems: &mut Vec<String>) {
    let fetch = |descriptor: &Descriptor| bundle.document(descriptor);
    let mut walk = Walk::new(&fetch, None);
    let is_image = |root: &&Descriptor| root.annotations.contains_key(IMAGE_NAME);
    for root in bundle.roots().iter().filter(is_image) {
        let name = root.annotations.get(IMAGE_NAME).cloned().unwrap_or_default();
        if let Err(error) = walk.visit(root) {
            problems.push(format!("{name}: {error:#}"));
        }
    }
    let nameless: Vec<Descriptor> =
        bundle.roots().iter().filter(|root| !is_image(root) && !root.has_files()).cloned().collect();
    if let Err(error) = referrers(&mut walk, &nameless) {
        problems.push(format!("{error:#}"));
    }
    for (digest, size) in &walk.blobs {
        match bundle.place(digest) {
            None => problems.push(format!("{}: an image needs it, and it is missing", digest.path())),
            Some(place) if place.size != *size => {
                problems.push(format!("{}: its descriptor says {size} bytes", digest.path()));
            }
            Some(_) => {}
        }
    }
}
