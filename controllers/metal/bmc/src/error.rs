//! What goes wrong, with which call.

use std::time::Duration;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. `call` is the call and where it went: `GET /redfish/v1 at https://10.0.0.7:443`, or
/// `Get Chassis Status at ipmi://10.0.0.7:623`. No password, token or media address is in a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No connection, or it broke.
    #[error("{call}: {reason}; check the address, and that this machine reaches the controller's network")]
    Unreachable {
        /// Which call.
        call: String,
        /// Why.
        reason: String,
    },
    /// The service's certificate is not trusted.
    #[error(
        "{call}: the certificate is not trusted: {reason}; give the controller a certificate of a known authority, or set disableCertificateVerification on the host"
    )]
    Certificate {
        /// Which call.
        call: String,
        /// Why.
        reason: String,
    },
    /// No answer in time.
    #[error(
        "{call}: no answer within {}; check that the controller is not overloaded or hung",
        seconds(after)
    )]
    TimedOut {
        /// Which call.
        call: String,
        /// How long it had.
        after: Duration,
    },
    /// User or password are wrong, or the user may not.
    #[error("{call}: {message}; check user, password and role in the host's credentials Secret")]
    Unauthorized {
        /// Which call.
        call: String,
        /// The controller's words.
        message: String,
    },
    /// The controller answered that it will not.
    #[error("{call}: status {status}: {message}{}", hint(*status))]
    Status {
        /// Which call.
        call: String,
        /// HTTP status.
        status: u16,
        /// The controller's words.
        message: String,
    },
    /// The answer makes no sense.
    #[error(
        "{call}: not the expected answer: {reason}; check that the address is that of the controller, and its firmware"
    )]
    Answer {
        /// Which call.
        call: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The controller said yes and did nothing.
    #[error(
        "{call}: answered that it was done, but it was not stored: {what} is {found}, not {wanted}; try again, and if it stays so, update the controller's firmware or reset it"
    )]
    NotStored {
        /// Which call.
        call: String,
        /// What was written.
        what: String,
        /// What it should be.
        wanted: String,
        /// What was read back.
        found: String,
    },
    /// The machine did not get to the power that was asked for in the time given.
    #[error(
        "{call}: the machine is still {found} after {}, not {wanted}; the controller may not be telling the truth, or the operating system does not react",
        seconds(after)
    )]
    Power {
        /// Which controller.
        call: String,
        /// What it should be.
        wanted: String,
        /// What it is.
        found: String,
        /// How long was waited.
        after: Duration,
    },
    /// The controller cannot do this.
    #[error("{call}: {what} is not supported: {reason}")]
    Unsupported {
        /// Which controller, or which call.
        call: String,
        /// What was asked for.
        what: String,
        /// Why not, and what to do instead.
        reason: String,
    },
    /// The address does not name one system.
    #[error("{call}: {reason}; give the system's path in the host's bmc.address")]
    System {
        /// Which call.
        call: String,
        /// What there is.
        reason: String,
    },
    /// A task of the controller failed.
    #[error("{call}: the task ended with {state}: {message}")]
    Task {
        /// Which call.
        call: String,
        /// The state of the task.
        state: String,
        /// The controller's words.
        message: String,
    },
    /// An IPMI controller refused a command.
    #[error("{call}: completion code {code:#04x}: {meaning}")]
    Completion {
        /// Which command.
        call: String,
        /// The completion code.
        code: u8,
        /// Its meaning.
        meaning: &'static str,
    },
    /// Something in the host's definition cannot be used.
    #[error("{0}")]
    Input(String),
}

impl Error {
    /// The user, the password or the role is wrong: trying again does not help, and may lock the user out.
    pub fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Unauthorized { .. })
    }

    /// The controller cannot do this, whatever is tried.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Unsupported { .. })
    }
}

impl Error {
    /// The same without `secret`, which a controller may have put into its words.
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

/// What to do about an HTTP status.
fn hint(status: u16) -> &'static str {
    match status {
        404 => "; check the path in the host's bmc.address",
        409 => "; another job of the controller is in the way: wait for it, or delete it there",
        500..=599 => "; the controller has a problem of its own: try again, or reset it",
        _ => "",
    }
}
