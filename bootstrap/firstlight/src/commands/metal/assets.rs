//! `metal assets`: the site's own boot files. Nothing is fetched from elsewhere.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use metal_boot::images::assets::Assets;
use server::data_directory::DataDirectory;
use server::options::DirectoryOptions;

use crate::output::say;

/// Commands under `metal assets`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Add kernels, kernel modules, stubs and iPXE programs from files or unpacked packages
    #[command(
        after_help = "Example:\n  dpkg-deb -x linux-image-6.1.0-56-cloud-amd64_*.deb unpacked\n  dpkg-deb -x systemd-boot-efi_*.deb unpacked\n  firstlight metal assets add unpacked"
    )]
    Add(AddOptions),
    /// Show the files with their checksums
    List(DirectoryOptions),
    /// Check the files against their checksums
    Verify(DirectoryOptions),
}

/// Options of `add`.
#[derive(Debug, Args)]
pub struct AddOptions {
    /// A file or a folder; boot files in it are recognised
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
}

fn assets(directory: &DirectoryOptions) -> Result<Assets> {
    let directory = DataDirectory::locate(directory.data_dir.as_deref())?;
    directory.create()?;
    Ok(Assets::new(&server::netboot::folder(&directory).join("assets")))
}

/// Runs `metal assets`.
///
/// # Errors
/// No file was recognised, a write fails, or a file does not match its checksum.
pub fn run(command: &Command) -> Result<()> {
    match command {
        Command::Add(options) => {
            let assets = assets(&options.directory)?;
            for path in &options.paths {
                for line in assets.add(path)? {
                    say(&format!("{line}\n"))?;
                }
            }
            say("A running server uses them after its next start.\n")
        }
        Command::List(directory) => {
            for asset in assets(directory)?.list()? {
                say(&format!("{}  {:>10}  {}\n", asset.sha256, asset.size, asset.path))?;
            }
            Ok(())
        }
        Command::Verify(directory) => {
            let assets = assets(directory)?;
            if assets.list()?.is_empty() {
                return say(
                    "There are no boot files to verify; `firstlight metal assets add` takes them from files or packages.\n",
                );
            }
            let wrong = assets.verify()?;
            if wrong.is_empty() {
                return say("All files match their checksums.\n");
            }
            bail!("these files do not match their checksums: {}; add them again", wrong.join(", "))
        }
    }
}
