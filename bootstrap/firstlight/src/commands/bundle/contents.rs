//! What is put into a bundle.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bundle::{Additions, BootFolder, Bundle, Container, FileKind, NewFile, Platforms, Reference};
use clap::Args;
use server::image;

use crate::manifests::read::{parse, texts};

/// How far above the folders of versions a folder with providers may be.
const PROVIDER_DEPTH: usize = 2;

/// The options for the content of a bundle.
#[derive(Debug, Args)]
pub struct ContentOptions {
    /// Container images: an OCI image layout in a folder, or an archive (`docker save`, `podman save`, `skopeo copy … oci-archive:`, `crane
    /// pull`), also with gzip or zstd. NAME= gives an image a name that has none there
    #[arg(value_name = "[NAME=]IMAGES")]
    pub containers: Vec<String>,
    /// A platform for which container images are taken, for example linux/arm64, or all; may be repeated [default: linux on the architecture
    /// of this machine]
    #[arg(long = "platform", value_name = "OS/ARCH")]
    pub platforms: Vec<Platforms>,
    /// A disk image for hosts, served as http://ADDRESS:8080/images/NAME; may be repeated
    #[arg(long = "image", value_name = "FILE")]
    pub images: Vec<PathBuf>,
    /// Boot files, as `firstlight metal assets add` takes them: a file, or a folder with unpacked packages; may be repeated
    #[arg(long = "kernel", value_name = "PATH")]
    pub kernels: Vec<PathBuf>,
    /// Manifests for `firstlight up -f bundle:`: a file, or a folder of .yaml, .yml and .json files; may be repeated
    #[arg(long = "manifest", value_name = "PATH")]
    pub manifests: Vec<PathBuf>,
    /// Files of providers for `firstlight init --bundle`: a folder in the layout of clusterctl's local repositories, LABEL/VERSION, or one above
    /// such folders; may be repeated
    #[arg(long = "provider", value_name = "DIR")]
    pub providers: Vec<PathBuf>,
}

impl ContentOptions {
    /// Returns whether there is no content.
    pub fn is_empty(&self) -> bool {
        self.containers.is_empty()
            && self.images.is_empty()
            && self.kernels.is_empty()
            && self.manifests.is_empty()
            && self.providers.is_empty()
    }

    /// Writes the bundle at `path` with the content of `old` and these additions. Returns a line for each.
    ///
    /// # Errors
    /// A file is missing, damaged or hostile, a manifest is no YAML, or a write fails. The file at `path` is unchanged then.
    pub fn write(&self, path: &Path, old: Option<&Bundle>, with_program: bool) -> Result<Vec<String>> {
        let mut additions = Additions::default();
        let all = self.platforms.iter().cloned().reduce(Platforms::and).unwrap_or_else(Platforms::own);
        for container in &self.containers {
            let (name, path) = named(container)?;
            additions.containers.push(Container { name, path, platforms: all.clone() });
        }
        for image in &self.images {
            additions.files.push(NewFile { kind: FileKind::Disk, title: name(image)?, path: image.clone() });
        }
        for manifest in &self.manifests {
            additions.files.extend(manifests(manifest)?);
        }
        for provider in &self.providers {
            additions.files.extend(providers(provider)?);
        }
        // These folders are removed when the bundle is written.
        let boot = BootFolder::beside(path)?;
        for kernel in &self.kernels {
            boot.add(kernel)?;
        }
        additions.files.extend(boot.files()?);
        let own = boot.path().join("firstlight.oci.tar");
        if with_program {
            additions.files.push(NewFile {
                kind: FileKind::Program,
                title: format!("{}/firstlight", std::env::consts::ARCH),
                path: std::env::current_exe().context("cannot find this program")?,
            });
            let file =
                std::fs::File::create(&own).with_context(|| format!("cannot write {}", own.display()))?;
            image::write(BufWriter::new(file), &image::default_reference(), &image::of_this_process()?)?;
            additions.containers.push(Container { name: None, path: own, platforms: Platforms::own() });
        }
        bundle::write(path, old, &additions)
    }
}

/// Splits `NAME=PATH`. A file whose name has an equals sign is meant as a whole.
fn named(text: &str) -> Result<(Option<Reference>, PathBuf)> {
    match text.split_once('=') {
        Some((name, path)) if !Path::new(text).exists() => Ok((Some(name.parse()?), path.into())),
        _ => Ok((None, text.into())),
    }
}

/// Returns the last part of a path.
fn name(path: &Path) -> Result<String> {
    let name = path.canonicalize().with_context(|| format!("cannot read {}", path.display()))?;
    // The name that the user wrote, also if it is that of a link.
    let name = path.file_name().or(name.file_name()).and_then(|name| name.to_str());
    Ok(name.with_context(|| format!("{} has no name in UTF-8", path.display()))?.to_owned())
}

/// Returns the manifests of a file or folder, after a look at whether they are manifests.
fn manifests(source: &Path) -> Result<Vec<NewFile>> {
    let mut files = Vec::new();
    for (file, text) in texts(source)? {
        parse(&file, &text)?;
        let path = PathBuf::from(file);
        let title =
            if source.is_dir() { format!("{}/{}", name(source)?, name(&path)?) } else { name(&path)? };
        files.push(NewFile { kind: FileKind::Manifests, title, path });
    }
    Ok(files)
}

/// Returns the files of all providers in or below a folder: those in folders with the name of a version.
fn providers(folder: &Path) -> Result<Vec<NewFile>> {
    let folder = folder.canonicalize().with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = Vec::new();
    releases(&folder, PROVIDER_DEPTH, &mut files)?;
    anyhow::ensure!(!files.is_empty(), "{} has no folder LABEL/VERSION with files", folder.display());
    Ok(files)
}

fn releases(folder: &Path, depth: usize, files: &mut Vec<NewFile>) -> Result<()> {
    let cannot = || format!("cannot read {}", folder.display());
    let release = name(folder)?;
    let is_release = clusterctl::version::parse(&release).is_some();
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.is_dir() && !is_release && depth > 0 {
            releases(&path, depth - 1, files)?;
        } else if path.is_file() && is_release {
            let label = folder.parent().map(name).transpose()?.unwrap_or_default();
            let title = format!("{label}/{release}/{}", name(&path)?);
            files.push(NewFile { kind: FileKind::Providers, title, path });
        }
    }
    files.sort_by(|a, b| a.title.cmp(&b.title));
    Ok(())
}
