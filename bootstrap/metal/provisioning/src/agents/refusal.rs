//! The reasons why an agent's request is refused.

/// The reason why an agent's request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No agent has enrolled with this certificate.
    #[error("nobody has enrolled with this certificate: enrol")]
    Unknown,
    /// The machine may not enrol or may not have this data.
    #[error("{0}")]
    Forbidden(String),
    /// The token is missing, used, or wrong.
    #[error("the one-time token of the machine {0}: restart the machine, so that it is told another one")]
    Token(&'static str),
    /// The endorsement key of the TPM is missing, different, or not proven.
    #[error("{0}")]
    Endorsement(String),
    /// The machine claims to be a host's machine, and nothing proves it.
    #[error("{0}")]
    Unproven(String),
    /// The limit for unknown machines is reached.
    #[error("{0}")]
    Full(String),
    /// A limit is reached. The first field is its name in the metrics, the second one the message.
    #[error("{1}")]
    Limit(&'static str, String),
    /// The request does not conform to the protocol.
    #[error("{0}")]
    Malformed(String),
    /// The API refuses the write, or cannot be reached.
    #[error("{0}")]
    Failed(String),
}

impl Refusal {
    /// Returns the name of the reason in the metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Forbidden(_) => "forbidden",
            Self::Token(_) => "token",
            Self::Endorsement(_) => "endorsement",
            Self::Unproven(_) => "unproven",
            Self::Full(_) => "full",
            Self::Limit(..) => "limit",
            Self::Malformed(_) => "malformed",
            Self::Failed(_) => "failed",
        }
    }
}
