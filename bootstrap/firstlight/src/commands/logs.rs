//! `firstlight logs`: prints the log of the data directory.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use machinery::clock::Clock;
use server::data_directory::DataDirectory;
use server::options::DirectoryOptions;

use crate::output::say;

/// The interval at which a followed log is read again.
const LOOK: Duration = Duration::from_millis(200);

/// The bytes of a log that are in memory at once.
const CHUNK: usize = 64 * 1024;

/// Options of `logs`.
#[derive(Debug, Clone, Args)]
pub struct LogsOptions {
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// Continue with new lines until Ctrl-C
    #[arg(short, long)]
    pub follow: bool,
}

/// Prints the log, which `up` on a terminal and `serve --detach` write.
///
/// # Errors
/// There is no log, or it cannot be read.
pub async fn run(options: &LogsOptions) -> Result<()> {
    let path = DataDirectory::locate(options.directory.data_dir.as_deref())?.log();
    let cannot_read = || format!("cannot read {}", path.display());
    let mut log = match File::open(&path) {
        Ok(log) => log,
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "there is no log at {}: `up` on a terminal and `serve --detach` write it, and every other server logs to its standard error",
            path.display()
        ),
        Err(error) => return Err(error).with_context(cannot_read),
    };
    let (mut chunk, mut shown) = (vec![0; CHUNK], terminal::Bytes::default());
    loop {
        let length = log.read(&mut chunk).with_context(cannot_read)?;
        if length > 0 {
            say(&shown.show(&chunk[..length]))?;
        } else if options.follow {
            Clock::system().sleep(LOOK).await;
        } else {
            return say(&shown.end());
        }
    }
}
