//! The error type of the engine and of the controllers that run on it.

use kube::core::Status;

/// The reason why a reconcile or one of its steps failed. Errors other than [`Error::Terminal`] are retried with back-off.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused a request or could not be reached.
    #[error("{what}: {}", api_message(.source))]
    Api {
        /// The request: verb, kind and name.
        what: String,
        /// The error of the client.
        source: Box<kube::Error>,
    },
    /// An object could not be converted to or from JSON.
    #[error("{what}: {source}")]
    Json {
        /// The request or object.
        what: String,
        /// The JSON error with its position.
        source: serde_json::Error,
    },
    /// The workload cluster is not connected; the controller is notified when it is.
    #[error("the connection to workload cluster {0} is down")]
    NotConnected(crate::NamespacedName),
    /// A kubeconfig could not be used.
    #[error("kubeconfig: {0}")]
    Kubeconfig(String),
    /// A failure that only a change of the object, or of one that it refers to, can end. Both are events, so it is not tried again.
    #[error("{0}")]
    Terminal(String),
    /// Any other failure, described for a person.
    #[error("{0}")]
    Failed(String),
    /// Several phases of one reconcile failed.
    #[error("{}", list(.0))]
    Several(Vec<Error>),
}

/// The result of a step of a reconcile.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Accepts that a write did not find its object: the object has been deleted since it was read, or the write removed its last finalizer.
/// The watch will report the deletion.
pub fn unless_gone<T>(written: Result<T>) -> Result<()> {
    match written {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

fn list(errors: &[Error]) -> String {
    let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
    format!("[{}]", all.join(", "))
}

/// Returns the message of the API server's `Status` only, since the client's own error text repeats all of
/// it.
fn api_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

impl Error {
    /// Creates an [`Error::Failed`] with this message.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// Wraps the client's error about the request `what`.
    pub fn api(what: impl Into<String>, source: kube::Error) -> Self {
        Self::Api { what: what.into(), source: Box::new(source) }
    }

    /// Wraps a failure to read or write the JSON of `what`.
    pub fn json(what: impl Into<String>, source: serde_json::Error) -> Self {
        Self::Json { what: what.into(), source }
    }

    /// Returns the API server's `Status` if it refused the request, or `None`.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Api { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            _ => None,
        }
    }

    fn is(&self, code: u16, reason: &str) -> bool {
        self.status()
            .is_some_and(|status| status.code == code && (reason.is_empty() || status.reason == reason))
    }

    /// Returns whether the API server returned 404.
    pub fn is_not_found(&self) -> bool {
        self.is(404, "")
    }

    /// Returns whether the API server returned 409 because the name is taken.
    pub fn is_already_exists(&self) -> bool {
        self.is(409, "AlreadyExists")
    }

    /// Returns whether the API server returned 409 because the object changed since it was read; of several errors, whether this is true
    /// for each.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Several(errors) => errors.iter().all(Self::is_conflict),
            error => error.is(409, "Conflict"),
        }
    }

    /// Returns the error about an object that could not be created, with `*` for `suffix`, the random part of its name. Each attempt has
    /// another name, and a condition that repeats the name would change with each attempt.
    pub fn without_suffix(self, suffix: &str) -> Self {
        if self.is_conflict() || suffix.is_empty() {
            return self;
        }
        let text = self.to_string().replace(suffix, "*");
        if matches!(self, Self::Terminal(_)) { Self::Terminal(text) } else { Self::Failed(text) }
    }

    /// Returns the texts of errors in one line, for a message.
    pub fn joined(errors: &[&Self]) -> String {
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// Combines several errors into one; `Ok` if there are none.
    pub fn aggregate(mut errors: Vec<Error>) -> Result<()> {
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(Self::Several(errors)),
        }
    }
}
