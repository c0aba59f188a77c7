//! Makes an image of a node in the layout of kind's `kindest/node`, from a Debian with systemd and containerd, the programs of Kubernetes, and images of
//! its components. Neither Docker nor kind is needed.
//!
//! Every file of the image is the same for the same input and time, except for the database of containerd, which has the times of the import.

mod import;
mod layer;
mod oci;
mod overlay;
mod programs;
mod tree;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use bundle::Digest;
use container_images::Name;
use system_containers::Report;

use crate::limits;
use tree::Tree;

/// What an image of a node is made of.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The version of Kubernetes, as `v1.36.3`.
    pub kubernetes: String,
    /// The image's name, as `docker.io/kindest/node:v1.36.3`.
    pub name: String,
    /// The archive of the Debian, which may be compressed with gzip or zstd.
    pub root: PathBuf,
    /// The folder with kubeadm, kubelet and kubectl, and with whatever else replaces or completes the programs of the Debian.
    pub binaries: PathBuf,
    /// Archives and folders with the images of the components. Nodes pull what is not in the image.
    pub images: Vec<PathBuf>,
    /// Whether the images are unpacked when the image is made, or at the first start of each node, which takes some ten seconds.
    pub images_at: ImagesAt,
    /// A folder with room for four times the image, on a file system that overlayfs can be stacked on.
    pub scratch: PathBuf,
    /// The time of the image, in seconds since 1970 (SOURCE_DATE_EPOCH). No file is younger.
    pub time: i64,
}

/// When the images of the components are unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImagesAt {
    /// When the image is made, by containerd of the Debian.
    Making,
    /// When a node starts the first time. This image is the same, byte by byte, for the same input.
    FirstStart,
}

/// Makes an image and writes it to `out` as an OCI archive, and returns the digest of its manifest. `report` is told what is done.
///
/// # Errors
/// This process is not root's; a program or an image is missing, and the message says where each belongs; or the disk is full.
pub fn make(recipe: &Recipe, out: impl Write, report: Report<'_>) -> Result<Digest> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "only root can make an image of a node, because its files have owners and rights: start this program as root"
    );
    let version = version(&recipe.kubernetes)?;
    let name: Name = recipe.name.parse()?;
    ensure!(name.digest.is_none(), "{}: an image that is made has a tag and no digest", recipe.name);
    programs::check_folder(&recipe.binaries)?;
    let images = import::Images::open(&recipe.images, &recipe.scratch)?;
    images.check(&recipe.kubernetes)?;
    let cannot = || format!("cannot make a folder in {}", recipe.scratch.display());
    let folder =
        tempfile::Builder::new().prefix("node-image-").tempdir_in(&recipe.scratch).with_context(cannot)?;
    report(&format!("unpacking {}", recipe.root.display()));
    let tree = Tree::unpack(&recipe.root, &folder.path().join("tree"))?;
    programs::copy(&tree, &recipe.binaries)?;
    let containerd = programs::check(&tree, &recipe.binaries)?;
    overlay::apply(
        &tree,
        &overlay::Facts {
            kubernetes: &recipe.kubernetes,
            minor: version,
            containerd: &containerd,
            pause: images.pause(),
        },
    )?;
    images.put(&tree, recipe.images_at, folder.path(), report)?;
    report("packing the image");
    let layer = layer::pack(tree.path(), folder.path(), recipe.time)?;
    oci::write(out, recipe, &name, &layer)
}

/// Returns the minor version of `v1.36.3`.
fn version(text: &str) -> Result<u32> {
    let parse = || {
        let mut parts = text.strip_prefix("v1.")?.splitn(2, '.');
        let minor = parts.next()?.parse().ok()?;
        let patch = parts.next()?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.+".contains(&byte);
        (patch.starts_with(|first: char| first.is_ascii_digit()) && patch.bytes().all(is_plain))
            .then_some(minor)
    };
    let short = text.len() as u64 <= limits::VERSION;
    parse()
        .filter(|_| short)
        .with_context(|| format!("{text:?} is no version of Kubernetes; write it as v1.36.3"))
}
