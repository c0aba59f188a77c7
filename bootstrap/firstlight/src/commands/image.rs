//! `firstlight image`.

use std::io::{BufWriter, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Args;

use crate::image;
use crate::output::say;

/// Options of `image`.
#[derive(Debug, Clone, Args)]
pub struct ImageOptions {
    /// The archive to write, or - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "firstlight.oci.tar")]
    pub output: PathBuf,
    /// The image's name
    #[arg(long, value_name = "REF", default_value_t = image::default_reference())]
    pub image: String,
}

/// Writes a container image of this program.
///
/// # Errors
/// The name of the image is invalid, or a write fails.
pub fn run(options: &ImageOptions) -> Result<()> {
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
    files::replace(&options.output, 0o644, |file| {
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
