//! `firstlight bundle`: one file with everything that a site without a network needs.

mod contents;

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use bundle::Bundle;
use clap::{Args, Subcommand};
use contents::ContentOptions;
use server::netboot;

use crate::output::OutputOptions;
use crate::output::{print, say};

/// Commands under `bundle`.
#[derive(Debug, Subcommand)]
pub enum BundleCommand {
    /// Make a bundle with this program, its container image, and what you name
    #[command(
        after_help = "Examples:\n  firstlight bundle create site.bundle --kernel unpacked --image noble.raw --manifest cluster/ kubernetes-images.tar\n  firstlight bundle create site.bundle registry.k8s.io/pause:3.10=pause-layout/"
    )]
    Create(CreateOptions),
    /// Add to a bundle; what has the same name is replaced
    ///
    /// The bundle is written anew beside the old one and then takes its name, so there is always a complete bundle, and there must be room
    /// for both. A server that has the old one open goes on with it until its next start.
    #[command(
        after_help = "Example:\n  docker save registry.k8s.io/coredns/coredns:v1.14.2 -o coredns.tar\n  firstlight bundle add site.bundle coredns.tar"
    )]
    Add(AddOptions),
    /// Fetch a bundle from the server that has it, for the cluster that takes over from this server
    Fetch(FetchOptions),
    /// Check the digest of everything in a bundle, and that its images are complete
    Verify(VerifyOptions),
    /// Show what a bundle has
    #[command(
        after_help = "Example:\n  firstlight bundle list site.bundle -o json | jq -r '.[] | select(.kind == \"image\") | .name'"
    )]
    List(ListOptions),
}

/// Options of `bundle create`.
#[derive(Debug, Args)]
pub struct CreateOptions {
    /// The bundle to make; the file must not exist
    #[arg(value_name = "BUNDLE")]
    pub bundle: PathBuf,
    /// Leave out this program and its container image
    #[arg(long)]
    pub without_firstlight: bool,
    /// The content.
    #[command(flatten)]
    pub contents: ContentOptions,
}

/// Options of `bundle add`.
#[derive(Debug, Args)]
pub struct AddOptions {
    /// The bundle
    #[arg(value_name = "BUNDLE")]
    pub bundle: PathBuf,
    /// Add this program and its container image, too
    #[arg(long)]
    pub firstlight: bool,
    /// The content.
    #[command(flatten)]
    pub contents: ContentOptions,
}

/// Options of `bundle fetch`.
#[derive(Debug, Args)]
pub struct FetchOptions {
    /// The file to write; if it is there, nothing is fetched
    #[arg(value_name = "BUNDLE")]
    pub bundle: PathBuf,
    /// URL of the server, as https://ADDRESS:8443
    #[arg(long, value_name = "URL")]
    pub from: String,
    /// Folder with netboot-ca.crt and netboot-ca.key, the authority of that server
    #[arg(long = "netboot-authority", value_name = "DIR")]
    pub authority: PathBuf,
}

/// Options of `bundle verify`.
#[derive(Debug, Args)]
pub struct VerifyOptions {
    /// The bundles
    #[arg(value_name = "BUNDLE", required = true)]
    pub bundles: Vec<PathBuf>,
}

/// Options of `bundle list`.
#[derive(Debug, Args)]
pub struct ListOptions {
    /// The bundle
    #[arg(value_name = "BUNDLE")]
    pub bundle: PathBuf,
    /// The form of the output.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Runs a command of `bundle`.
///
/// # Errors
/// The errors of the command.
pub async fn run(command: &BundleCommand) -> Result<()> {
    match command {
        BundleCommand::Create(options) => create(options),
        BundleCommand::Add(options) => add(options),
        BundleCommand::Fetch(options) => {
            netboot::fetch(&options.from, &options.authority, &options.bundle).await
        }
        BundleCommand::Verify(options) => verify(&options.bundles),
        BundleCommand::List(options) => list(options),
    }
}

fn create(options: &CreateOptions) -> Result<()> {
    let path = &options.bundle;
    let behind = files::behind_links(path)?;
    ensure!(
        std::fs::symlink_metadata(&behind).is_err(),
        "{0} exists: add to it with `firstlight bundle add {0}`, or remove it",
        path.display()
    );
    let with_program = !options.without_firstlight;
    ensure!(
        with_program || !options.contents.is_empty(),
        "the bundle would be empty: name what it should contain"
    );
    told(options.contents.write(&behind, None, with_program)?)
}

fn add(options: &AddOptions) -> Result<()> {
    let old = Bundle::open(&options.bundle)?;
    ensure!(
        options.firstlight || !options.contents.is_empty(),
        "nothing is added: name an archive of images, --image, --kernel, --manifest or --firstlight"
    );
    let behind = files::behind_links(&options.bundle)?;
    told(options.contents.write(&behind, Some(&old), options.firstlight)?)
}

fn told(lines: Vec<String>) -> Result<()> {
    lines.iter().try_for_each(|line| say(&format!("{line}\n")))
}

fn verify(bundles: &[PathBuf]) -> Result<()> {
    let mut damaged = 0;
    for path in bundles {
        let bundle = Bundle::open(path)?;
        let problems = bundle::verify(&bundle).with_context(|| path.display().to_string())?;
        if problems.is_empty() {
            say(&format!("{}: everything has its digest, and all images are complete.\n", path.display()))?;
            continue;
        }
        damaged += 1;
        for problem in problems {
            say(&format!("{}: {problem}\n", path.display()))?;
        }
    }
    match damaged {
        0 => Ok(()),
        1 => bail!("a bundle is damaged: copy it again, or make it again"),
        _ => bail!("{damaged} bundles are damaged: copy them again, or make them again"),
    }
}

fn list(options: &ListOptions) -> Result<()> {
    let items = bundle::list(&Bundle::open(&options.bundle)?)?;
    if let Some(output) = options.output.output {
        return print(&items, output);
    }
    let rows = items.iter().map(|item| {
        let mib = item.size as f64 / f64::from(1 << 20);
        let platforms = item.platforms.join(",");
        format!("{:9}  {:>9.1}  {}  {} {platforms}", item.kind, mib, item.digest, item.name)
    });
    let rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
    let digest = "DIGEST";
    say(&format!("{:9}  {:>9}  {digest:71}  NAME\n{}\n", "KIND", "SIZE, MiB", rows.join("\n")))
}
