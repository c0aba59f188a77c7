//! What can go wrong here.

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A step of the shared loop failed.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// A certificate or key can't be used.
    #[error("{what}: {source}")]
    Certificate {
        /// Which Secret or file.
        what: String,
        /// Why.
        source: pki::Error,
    },
    /// A Kubernetes version can't be used.
    #[error("{0}")]
    Version(String),
    /// Something that bootstrap data is rendered from is wrong or missing.
    #[error("{0}")]
    Bootstrap(String),
    /// YAML could not be read or written.
    #[error("YAML: {0}")]
    Yaml(String),
    /// etcd could not be reached, or refused.
    #[error("etcd: {0}")]
    Etcd(String),
    /// The workload cluster could not be read or changed.
    #[error("workload cluster: {0}")]
    Workload(String),
}

impl Error {
    /// Names what a certificate error is about.
    pub fn certificate(what: impl Into<String>) -> impl FnOnce(pki::Error) -> Self {
        let what = what.into();
        move |source| Self::Certificate { what, source }
    }
}

/// The result of a step.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The error as the shared loop reports it.
    pub fn into_engine(self) -> engine::Error {
        match self {
            Self::Engine(error) => error,
            other => engine::Error::failed(other.to_string()),
        }
    }
}
