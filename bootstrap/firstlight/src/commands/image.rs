//! `firstlight image` and `firstlight image node`.

use std::io::{BufWriter, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use node_images::{ImagesAt, Recipe};
use server::image;

use crate::output::{say, tell};

/// Options of `image`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ImageOptions {
    #[command(subcommand)]
    what: Option<What>,
    /// The archive to write, or - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "firstlight.oci.tar")]
    pub output: PathBuf,
    /// The image's name
    #[arg(long, value_name = "REF", default_value_t = image::default_reference())]
    pub image: String,
}

/// What an image is made of, if it is not this program.
#[derive(Debug, Clone, Subcommand)]
enum What {
    /// Make an image of a node for clusters on this machine, in the layout of kindest/node; neither Docker nor kind is needed
    #[command(
        after_help = "Example:\n  firstlight image node --kubernetes v1.36.3 --root debian.tar.zst --binaries bin --images images -o node.oci.tar"
    )]
    Node(NodeOptions),
}

/// Options of `image node`.
#[derive(Debug, Clone, Args)]
struct NodeOptions {
    /// The version of Kubernetes, as v1.36.3
    #[arg(long, value_name = "VERSION")]
    kubernetes: String,
    /// An archive of a Debian with systemd and containerd (.tar, .tar.gz or .tar.zst), as mmdebstrap makes it
    #[arg(long, value_name = "FILE")]
    root: PathBuf,
    /// The folder with kubeadm, kubelet, kubectl and, if the Debian does not have them, crictl and others
    #[arg(long, value_name = "FOLDER")]
    binaries: PathBuf,
    /// Archives and folders with the images of Kubernetes' components; without them, each node pulls them
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    images: Vec<PathBuf>,
    /// Unpack these images at the first start of each node, and not now: the same input gives the same bytes, and nodes start some seconds later
    #[arg(long)]
    images_at_first_start: bool,
    /// The image's name (default: docker.io/kindest/node:VERSION)
    #[arg(long, value_name = "REF")]
    image: Option<String>,
    /// The archive to write
    #[arg(short, long, value_name = "FILE", default_value = "node.oci.tar")]
    output: PathBuf,
}

/// Makes an image of a node.
fn run_node(options: &NodeOptions) -> Result<()> {
    let name =
        options.image.clone().unwrap_or_else(|| format!("docker.io/kindest/node:{}", options.kubernetes));
    let output = files::behind_links(&options.output)?;
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let recipe = Recipe {
        kubernetes: options.kubernetes.clone(),
        name,
        root: options.root.clone(),
        binaries: options.binaries.clone(),
        images: options.images.clone(),
        images_at: if options.images_at_first_start { ImagesAt::FirstStart } else { ImagesAt::Making },
        scratch: folder.unwrap_or(Path::new(".")).to_owned(),
        time: image::time()?,
    };
    let mut digest = String::new();
    files::replace(&output, 0o644, |file| {
        let report = |line: &str| tell(line);
        digest = node_images::make(&recipe, BufWriter::new(file), &report)?.to_string();
        Ok(())
    })?;
    let path = options.output.display();
    say(&format!(
        "{path} has the image {} ({digest})\n\
         Name it with `--container-images {path}`, or add it to a bundle with `firstlight bundle create`\n",
        recipe.name
    ))
}

/// Writes a container image of this program, or an image of a node.
///
/// # Errors
/// The name of the image is invalid, or a write fails.
pub fn run(options: &ImageOptions) -> Result<()> {
    if let Some(What::Node(options)) = &options.what {
        return run_node(options);
    }
    image::check_reference(&options.image)?;
    let entries = image::of_this_process()?;
    if options.output == Path::new("-") {
        let out = std::io::stdout();
        ensure!(
            !out.is_terminal(),
            "an image is binary data; name a file with -o, or redirect standard output"
        );
        image::write(BufWriter::new(out), &options.image, &entries)?;
        return Ok(());
    }
    let path = options.output.display();
    let mut digest = String::new();
    files::replace(&files::behind_links(&options.output)?, 0o644, |file| {
        digest = image::write(BufWriter::new(file), &options.image, &entries)?;
        Ok(())
    })?;
    say(&format!(
        "{path} has the image {} ({digest})\n\
         Load it with `podman load -i {path}`, `docker load -i {path}` or, on a node, `ctr -n k8s.io images import {path}`\n\
         Run it with `podman run --rm --name firstlight -p 127.0.0.1:6443:6443 -v firstlight:{} {}`\n",
        options.image,
        image::DATA,
        options.image
    ))
}
