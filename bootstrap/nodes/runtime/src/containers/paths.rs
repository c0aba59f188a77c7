//! The paths of a specification that lie below the data directory. They are recorded relative to it, because it may move.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use system_containers::Spec;

/// The fewest names at the end of a path by which an image is found again: the folder of images, and the folder of one.
const NAMES: usize = 2;

/// Makes all paths absolute.
///
/// # Errors
/// The process has no current directory.
pub(super) fn absolute(spec: &mut Spec) -> Result<()> {
    // A balancer has no image.
    if !spec.image.is_empty() {
        let image = std::path::absolute(&spec.image);
        let image = image.with_context(|| format!("image: cannot find {}", spec.image))?;
        spec.image = text(&image);
    }
    for mount in &mut spec.mounts {
        let source = std::path::absolute(&mount.source);
        mount.source = source.with_context(|| format!("mounts: cannot find {}", mount.source.display()))?;
    }
    Ok(())
}

/// Makes the paths below the data directory relative to it. All paths are absolute before.
pub(super) fn relative(spec: &mut Spec, data: &Path) {
    if let Ok(image) = Path::new(&spec.image).strip_prefix(data) {
        spec.image = text(image);
    }
    for mount in &mut spec.mounts {
        if let Ok(source) = mount.source.strip_prefix(data) {
            mount.source = source.to_owned();
        }
    }
}

/// Makes all paths of a record absolute, of which the relative ones lie below the data directory.
pub(super) fn resolve(spec: &mut Spec, data: &Path) {
    if !spec.image.is_empty() {
        spec.image = text(&image(Path::new(&spec.image), data));
    }
    for mount in &mut spec.mounts {
        mount.source = data.join(&mount.source);
    }
}

/// Earlier versions recorded an absolute path of every image. If nothing is there, it may be that of the data directory before it moved, and its
/// end is looked for in the present one.
fn image(recorded: &Path, data: &Path) -> PathBuf {
    if recorded.is_relative() || recorded.exists() {
        return data.join(recorded);
    }
    let mut end = recorded.components();
    while end.next().is_some() && end.clone().count() >= NAMES {
        let found = data.join(end.as_path());
        if found.is_dir() {
            return found;
        }
    }
    recorded.to_owned()
}

fn text(path: &Path) -> String {
    // It was made of text.
    path.to_string_lossy().into_owned()
}
