//! Why an agent is not answered.

/// Why an agent is not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody enrolled with this certificate.
    #[error("nobody has enrolled with this certificate: enrol")]
    Unknown,
    /// The machine is not let in.
    #[error("{0}")]
    Forbidden(String),
    /// Its token is not what it must be.
    #[error("the one-time token of the machine {0}: restart the machine, so that it is told another one")]
    Token(&'static str),
    /// Its TPM is not what it must be.
    #[error("{0}")]
    Endorsement(String),
    /// It says that it is a host's machine, and nothing shows it.
    #[error("{0}")]
    Unproven(String),
    /// There are as many unknown machines as there is room for.
    #[error("{0}")]
    Full(String),
    /// What it says is not what the protocol has.
    #[error("{0}")]
    Malformed(String),
    /// The API refuses, or cannot be reached.
    #[error("{0}")]
    Failed(String),
}
