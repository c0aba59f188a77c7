//! Options that several commands share, and the parsers of their values.

mod address;
pub mod features;
pub mod server;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

pub use address::Address;
pub use features::FeatureOptions;

/// The option for the data directory of the server.
#[derive(Debug, Clone, Default, Args)]
pub struct DirectoryOptions {
    /// Directory for all state [default: $XDG_DATA_HOME/firstlight, as root /var/lib/firstlight]
    #[arg(long, value_name = "DIR", env = "FIRSTLIGHT_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
}

/// The option `-o`.
#[derive(Debug, Clone, Args)]
pub struct OutputOptions {
    /// Form of the output
    #[arg(short, long, value_enum)]
    pub output: Option<Output>,
}

/// Forms of output for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// Reads a duration as `90s`, `10m` or `1h30m`.
///
/// # Errors
/// The text is not a duration.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    machinery::duration::parse(text)
        .ok_or_else(|| format!("{text:?} is not a duration; write 90s, 10m or 1h30m"))
}
