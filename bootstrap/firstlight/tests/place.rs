//! A server in a folder of its own.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::path::Path;

use clap::Parser;
use firstlight::cli::{Cli, Command};
use server::options::ServerOptions;
use server::process::Process;
use tempfile::TempDir;

/// A running server.
pub struct Place {
    /// The server.
    pub process: Process,
    /// Its data directory.
    pub folder: TempDir,
}

impl Place {
    /// Starts a server with a store in memory.
    pub async fn start(controllers: &str, gates: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let process = Process::start(&options(folder.path(), controllers, gates)).await.unwrap();
        Self { process, folder }
    }
}

/// Returns the options of a server with a store in memory, on a free port.
pub fn options(data: &Path, controllers: &str, gates: &[&str]) -> ServerOptions {
    let mut arguments = vec!["firstlight", "serve", "--listen", "127.0.0.1:0", "--store", "memory"];
    arguments.extend(["--controllers", controllers, "--data-dir", data.to_str().unwrap()]);
    arguments.extend(gates.iter().flat_map(|gate| ["--feature-gates", gate]));
    match Cli::parse_from(arguments).command {
        Command::Serve(serve) => serve.server,
        _ => panic!("not serve"),
    }
}
