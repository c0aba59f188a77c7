//! The errors of this crate.

/// An error of the kubeadm controllers.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A step of the engine failed.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// A certificate or key cannot be used.
    #[error("{what}: {source}")]
    Certificate {
        /// The Secret or file.
        what: String,
        /// The reason.
        source: pki::Error,
    },
    /// A Kubernetes version cannot be used.
    #[error("{0}")]
    Version(String),
    /// An input of the bootstrap data is wrong or missing.
    #[error("{0}")]
    Bootstrap(String),
    /// YAML could not be read or written.
    #[error("YAML: {0}")]
    Yaml(String),
    /// etcd could not be reached, or refused a call.
    #[error("etcd: {0}")]
    Etcd(String),
    /// The workload cluster could not be read or changed.
    #[error("workload cluster: {0}")]
    Workload(String),
}

impl Error {
    /// Returns a function that adds the name of the Secret or file to a certificate error.
    pub fn certificate(what: impl Into<String>) -> impl FnOnce(pki::Error) -> Self {
        let what = what.into();
        move |source| Self::Certificate { what, source }
    }
}

/// The result of a step of a reconcile.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Converts the error into the engine's error.
    pub fn into_engine(self) -> engine::Error {
        match self {
            Self::Engine(error) => error,
            other => engine::Error::failed(other.to_string()),
        }
    }
}
