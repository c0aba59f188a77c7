//! The servers of ours, and what is printed.

use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use test_server::Server;

/// Starts a server of ours, with its files in a new folder with this name.
pub async fn server(binary: &Path, folder: &Path, name: &str, options: &[&str]) -> Result<Server> {
    let place = folder.join(name);
    std::fs::create_dir(&place)?;
    Server::start(binary, &place, options).await
}

pub fn say(line: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{line}")?)
}
