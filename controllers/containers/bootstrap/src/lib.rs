//! The bootstrap data of a Machine as steps, and a shell script that takes them in a node.
//!
//! Nodes in containers have no cloud-init and no Ignition. [`parse`] reads the data into an ordered list of steps,
//! [`Bootstrap::adapt`] makes kubeadm's configuration and commands fit for a node in a container, and [`script()`] makes of
//! the steps one shell script that runs in the node: each step once, strictly in order. Progress and outcome stay in the
//! node, so that [`Report`] reads them whoever started the script, and however often the reader was restarted since.
//!
//! The crate has no I/O: the caller carries the script into the node, starts it and runs [`status_command`].

mod adapt;
mod cloud_config;
mod content;
mod error;
mod ignition;
mod kubeadm;
pub mod limits;
mod metadata;
mod options;
mod report;
mod script;
mod shell;
mod steps;
mod users;

pub use error::Error;
pub use metadata::Metadata;
pub use options::NodeOptions;
pub use report::{At, Outcome, Output, Report};
pub use script::{Place, deliver_command, end_command, script, start_command, status_command};
pub use steps::{Action, Bootstrap, Command, Step, WriteFile};

/// The format of bootstrap data: the key `format` of its Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// cloud-init's `#cloud-config`.
    CloudConfig,
    /// A configuration of Ignition in JSON.
    Ignition,
}

impl std::str::FromStr for Format {
    type Err = Error;

    /// Reads the key `format`. A missing key is an empty text, and means cloud-config.
    fn from_str(text: &str) -> Result<Self, Error> {
        match text.trim() {
            "" | "cloud-config" => Ok(Self::CloudConfig),
            "ignition" => Ok(Self::Ignition),
            other => Err(Error::Format(other.chars().take(40).collect())),
        }
    }
}

/// Reads bootstrap data: the key `value` of its Secret.
///
/// # Errors
/// The data is no document of the format, is larger than a limit, or says what cannot be done in the words of a shell. What
/// a node does not do, such as another clock, is no error but one of [`Bootstrap::warnings`].
pub fn parse(data: &[u8], format: Format, metadata: &Metadata) -> Result<Bootstrap, Error> {
    if data.len() > limits::MAX_DATA {
        return Err(Error::TooLarge { what: "the bootstrap data".to_owned(), limit: limits::MAX_DATA });
    }
    match format {
        Format::CloudConfig => cloud_config::parse(data, metadata),
        Format::Ignition => ignition::parse(data),
    }
}
