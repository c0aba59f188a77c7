//! Errors of the verbs. Their texts are shown to users after `Error: `.

use machinery::cause::first_cause;

/// An error of a verb. The text contains every cause, so there is no chain of sources to print after it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user's request cannot be carried out.
    #[error("{0}")]
    Invalid(String),
    /// An invalid template or YAML text.
    #[error("{0}")]
    Template(String),
    /// A repository, or another place on the network, does not have the file.
    #[error("404 Not Found")]
    NotFound,
    /// The kubeconfig cannot be used.
    #[error("{0}")]
    Kubeconfig(kube::config::KubeconfigError),
    /// The cluster refused a request or did not answer.
    #[error("{}", cluster_message(.0))]
    Cluster(kube::Error),
    /// A file could not be read or written.
    #[error("{0}")]
    Disk(std::io::Error),
    /// The network failed.
    #[error("{0}")]
    Network(String),
    /// An upgrade failed, and the old version is there again.
    #[error("the upgrade failed and was undone: {0}")]
    Undone(Box<Self>),
    /// Another error, with a text that says what was being done.
    #[error("{0}: {1}")]
    Context(String, Box<Self>),
}

/// Result of a verb.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether the requested thing does not exist, in a cluster or in a repository.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::NotFound => true,
            Self::Cluster(kube::Error::Api(status)) => status.code == 404,
            Self::Context(_, source) => source.is_not_found(),
            _ => false,
        }
    }

    /// Whether the user has no right to do it.
    pub(crate) fn is_forbidden(&self) -> bool {
        match self {
            Self::Cluster(kube::Error::Api(status)) => status.code == 403,
            Self::Context(_, source) => source.is_forbidden(),
            _ => false,
        }
    }

    /// Whether the same request may succeed a little later.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::NotFound => true,
            Self::Cluster(kube::Error::Api(status)) => status.code >= 500 || status.code == 429,
            Self::Cluster(kube::Error::Service(_) | kube::Error::HyperError(_)) => true,
            Self::Context(_, source) => source.may_pass(),
            _ => false,
        }
    }

    /// An error in the user's request.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }
}

impl From<kube::config::KubeconfigError> for Error {
    fn from(error: kube::config::KubeconfigError) -> Self {
        Self::Kubeconfig(error)
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Cluster(error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Disk(error)
    }
}

/// Returns the API server's message or, if it did not answer, the cause.
pub fn cluster_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        kube::Error::Service(source) => {
            format!("the server of the kubeconfig does not answer: {}", first_cause(source.as_ref()))
        }
        other => other.to_string(),
    }
}

/// Adds to an error what was being done.
pub trait Context<T> {
    /// Puts `doing` and a colon in front of the error.
    ///
    /// # Errors
    /// The error with this context.
    fn context(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::Context(doing(), Box::new(error.into())))
    }
}
