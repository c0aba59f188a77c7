//! Options that several commands share, and the parsers of their values.

pub mod address;
pub mod features;
mod serve;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

pub use address::Address;
pub use features::FeatureOptions;
pub use serve::{ContainerIsolation, ServerOptions, StoreChoice};

/// The option for the data directory of the server.
#[derive(Debug, Clone, Default, Args)]
pub struct DirectoryOptions {
    /// Directory for all state [default: $XDG_DATA_HOME/firstlight, else ~/.local/share/firstlight, or /var/lib/firstlight for the home /root]
    #[arg(long, value_name = "DIR", env = "FIRSTLIGHT_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// What failed for good
    Error,
    /// Also what is tried again
    Warn,
    /// Also what the controllers create, change and delete
    Info,
    /// Also each attempt
    Debug,
    /// Everything
    Trace,
}

/// The option `--log-level`.
#[derive(Debug, Clone, Default, Args)]
pub struct LogOptions {
    /// How much is logged [default: info; warn where `up` shows the clusters on the terminal of the log]. RUST_LOG overrides it, and can choose
    /// for each part of the program
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub log_level: Option<LogLevel>,
}

/// Reads a duration as `90s`, `10m` or `1h30m`.
///
/// # Errors
/// The text is not a duration.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    machinery::duration::parse(text)
        .ok_or_else(|| format!("{text:?} is not a duration; write 90s, 10m or 1h30m"))
}
