//! The errors of controllers, each with the call that failed.

use std::time::Duration;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a controller. `call` is the call and its destination: `GET /redfish/v1 at https://10.0.0.7:443`, or `Get Chassis Status
/// at ipmi://10.0.0.7:623`. Messages contain no password, token or URL of an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no connection, or it broke.
    #[error("{call}: {reason}; check the address, and that this machine reaches the controller's network")]
    Unreachable {
        /// The call that failed.
        call: String,
        /// The reason.
        reason: String,
    },
    /// The controller's certificate is not trusted.
    #[error(
        "{call}: the certificate is not trusted: {reason}; give the controller a certificate of a known authority, or set disableCertificateVerification on the host"
    )]
    Certificate {
        /// The call that failed.
        call: String,
        /// The reason.
        reason: String,
    },
    /// The controller did not answer in time.
    #[error(
        "{call}: no answer within {}; check that the controller is not overloaded or hung",
        seconds(after)
    )]
    TimedOut {
        /// The call that failed.
        call: String,
        /// The timeout.
        after: Duration,
    },
    /// User or password are wrong, or the user lacks the privilege.
    #[error("{call}: {message}; check user, password and role in the host's credentials Secret")]
    Unauthorized {
        /// The call that failed.
        call: String,
        /// The controller's message.
        message: String,
    },
    /// The controller answered with an error status.
    #[error("{call}: status {status}: {message}{}", hint(*status))]
    Status {
        /// The call that failed.
        call: String,
        /// The HTTP status.
        status: u16,
        /// The controller's message.
        message: String,
    },
    /// The answer is malformed or unexpected.
    #[error(
        "{call}: not the expected answer: {reason}; check that the address is that of the controller, and its firmware"
    )]
    Answer {
        /// The call that failed.
        call: String,
        /// The problem with the answer.
        reason: String,
    },
    /// The controller reported success, but did not store the change.
    #[error(
        "{call}: answered that it was done, but it was not stored: {what} is {found}, not {wanted}; try again, and if it stays so, update the controller's firmware or reset it"
    )]
    NotStored {
        /// The call that failed.
        call: String,
        /// The name of the written value.
        what: String,
        /// The value that was written.
        wanted: String,
        /// The value that was read back.
        found: String,
    },
    /// The controller does not support this.
    #[error("{call}: {what} is not supported: {reason}")]
    Unsupported {
        /// The controller or the call.
        call: String,
        /// The unsupported function.
        what: String,
        /// The reason, and an alternative.
        reason: String,
    },
    /// The address does not identify one system.
    #[error("{call}: {reason}; give the system's path in the host's bmc.address")]
    System {
        /// The call that failed.
        call: String,
        /// The systems that exist.
        reason: String,
    },
    /// A task of the controller failed.
    #[error("{call}: the task ended with {state}: {message}")]
    Task {
        /// The call that failed.
        call: String,
        /// The state of the task.
        state: String,
        /// The controller's message.
        message: String,
    },
    /// An IPMI controller refused a command.
    #[error("{call}: completion code {code:#04x}: {meaning}")]
    Completion {
        /// The command that failed.
        call: String,
        /// The completion code.
        code: u8,
        /// The meaning of the code.
        meaning: &'static str,
    },
    /// The host's definition contains an invalid value.
    #[error("{0}")]
    Input(String),
}

impl Error {
    /// Returns whether user, password or privilege are wrong: another attempt does not help, and may lock the user out.
    pub fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Unauthorized { .. })
    }

    /// Returns whether the controller does not support the call, so that no other attempt can succeed.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Unsupported { .. })
    }
}

impl Error {
    /// Returns the error with `secret` removed from the controller's message.
    pub(crate) fn without(mut self, secret: &str) -> Self {
        let words = match &mut self {
            Self::Unauthorized { message, .. }
            | Self::Status { message, .. }
            | Self::Task { message, .. } => message,
            Self::Answer { reason, .. } | Self::Unsupported { reason, .. } => reason,
            Self::NotStored { found, .. } => found,
            _ => return self,
        };
        if !secret.is_empty() {
            *words = words.replace(secret, "***");
        }
        self
    }
}

fn seconds(duration: &Duration) -> String {
    format!("{} s", duration.as_secs())
}

/// Returns a hint for the operator about an HTTP status.
fn hint(status: u16) -> &'static str {
    match status {
        404 => "; check the path in the host's bmc.address",
        409 => "; another job of the controller is in the way: wait for it, or delete it there",
        500..=599 => "; the controller has a problem of its own: try again, or reset it",
        _ => "",
    }
}
