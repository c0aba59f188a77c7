//! What can go wrong in a verb. The texts are what a user reads behind `Error: `.

/// What went wrong. The text names every cause, so that there is no chain of sources to print behind it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What the user asked for cannot be done.
    #[error("{0}")]
    Invalid(String),
    /// A template that is none.
    #[error("{0}")]
    Template(String),
    /// A repository, or any other place on the network, has no such thing.
    #[error("404 Not Found")]
    NotFound,
    /// A kubeconfig that cannot be used.
    #[error("{0}")]
    Kubeconfig(kube::config::KubeconfigError),
    /// The cluster refused, or did not answer.
    #[error("{}", cluster(.0))]
    Cluster(kube::Error),
    /// The disk refused.
    #[error("{0}")]
    Disk(std::io::Error),
    /// The network failed.
    #[error("{0}")]
    Network(String),
    /// Another error, and what was being done.
    #[error("{0}: {1}")]
    Context(String, Box<Self>),
}

/// Outcome of a verb.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether the thing asked for does not exist, in a cluster or in a repository.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::NotFound => true,
            Self::Cluster(kube::Error::Api(status)) => status.code == 404,
            Self::Context(_, source) => source.is_not_found(),
            _ => false,
        }
    }

    /// An error of what was asked for.
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

/// An API server's own words, where it answered.
fn cluster(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => other.to_string(),
    }
}

/// Says what was being done when something failed.
pub trait Context<T> {
    /// Puts `doing` and a colon in front of the error.
    ///
    /// # Errors
    /// The error with its context.
    fn context(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::Context(doing(), Box::new(error.into())))
    }
}
