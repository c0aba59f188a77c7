//! `firstlight backup`, `restore` and `verify`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use machinery::clock::Clock;
use server::backup;
use server::data_directory::DataDirectory;
use server::options::DirectoryOptions;

use crate::output::{is_answer_yes, say};

/// Options of `backup`.
#[derive(Debug, Clone, Args)]
pub struct BackupOptions {
    /// The file to write, or - for standard output
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Replace an existing file without asking
    #[arg(long)]
    pub overwrite: bool,
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
}

/// Options of `restore`.
#[derive(Debug, Clone, Args)]
pub struct RestoreOptions {
    /// The backup to restore, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The data directory to create.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// Restore even if the data directory is not empty; its content is kept as DIR.replaced
    #[arg(long)]
    pub replace: bool,
}

/// Options of `verify`.
#[derive(Debug, Clone, Args)]
pub struct VerifyOptions {
    /// The backup to verify, or - for standard input [default: verify the data directory]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
}

/// Runs `backup`.
///
/// # Errors
/// The errors of [`backup::take`].
pub async fn run(options: &BackupOptions) -> Result<()> {
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    if !options.overwrite && options.file.is_file() {
        ask_to_overwrite(&options.file).await?;
    }
    let header = backup::take(&directory, &options.file, &Clock::system()).await?;
    if options.file == Path::new("-") {
        // Standard output has the backup, so nothing else may be printed.
        return Ok(());
    }
    say(&format!(
        "{} objects at revision {} are in {}\n",
        header.objects,
        header.revision,
        options.file.display()
    ))
}

/// Asks whether to replace the file. Fails if the user declines, or if standard input is not a terminal.
async fn ask_to_overwrite(file: &Path) -> Result<()> {
    let file = file.display();
    if !std::io::stdin().is_terminal() {
        bail!("{file} exists; replace it with --overwrite, or name another file");
    }
    say(&format!("{file} exists. Replace it? [y/N] "))?;
    if !is_answer_yes().await? {
        bail!("{file} was not replaced");
    }
    Ok(())
}

/// Runs `restore`.
///
/// # Errors
/// The errors of [`backup::restore`].
pub async fn restore(options: &RestoreOptions) -> Result<()> {
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    let restored = backup::restore(&directory, &options.file, options.replace, &Clock::system()).await?;
    let path = directory.path().display();
    let mut text = format!(
        "{} objects of {} (revision {}) are in {path}; the next revision is {}\n",
        restored.header.objects,
        restored.header.taken,
        restored.header.revision,
        restored.revision.next(),
    );
    if let Some(replaced) = &restored.replaced {
        text.push_str(&format!("The previous content is in {}\n", replaced.display()));
    }
    text.push_str(&format!(
        "Start it with `firstlight serve --data-dir {path}`, unless another server has taken over its clusters since\n"
    ));
    say(&text)
}

/// Runs `verify` on a backup or a data directory.
///
/// # Errors
/// The damage that was found.
pub async fn verify(options: &VerifyOptions) -> Result<()> {
    if let Some(file) = &options.file {
        let header = backup::verify_file(file)?;
        return say(&format!(
            "The backup is whole: {} objects at revision {}, taken {} by firstlight {}\n",
            header.objects, header.revision, header.taken, header.version
        ));
    }
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    let verified = backup::verify_directory(&directory, &Clock::system()).await?;
    say(&format!(
        "{} is whole: {} objects in {} rows at revision {}\n",
        directory.path().display(),
        verified.objects,
        verified.rows,
        verified.revision
    ))
}
