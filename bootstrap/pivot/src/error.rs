//! The errors of a pivot.

use machinery::cause::first_cause;

use crate::finding::Finding;

/// The reason why a pivot cannot continue. Nothing is lost with any error: the journal records the progress.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A server refuses a request or cannot be reached.
    #[error("{server}: {what}: {}", message(.cause, *.has_answered))]
    Server {
        /// The role of the server: `source` or `target`.
        server: &'static str,
        /// The verb and the object.
        what: String,
        /// The error of the client. Its sources are part of the message.
        cause: Box<kube::Error>,
        /// Whether the server answered any request of this process before.
        has_answered: bool,
    },
    /// The answer of a server does not conform to its API.
    #[error("{server}: {what}: the answer cannot be read: {source}")]
    Answer {
        /// The role of the server: `source` or `target`.
        server: &'static str,
        /// The verb and the object.
        what: String,
        /// The error with its position.
        source: serde_json::Error,
    },
    /// The answer of a server, or a list with all its pages, is larger than any that belongs to Cluster API.
    #[error("{server}: {what}: the answer has more than {} MiB", .limit >> 20)]
    TooLarge {
        /// The role of the server: `source` or `target`.
        server: &'static str,
        /// The verb and the object.
        what: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The journal cannot be read or written.
    #[error("the journal {path}: {source}")]
    Disk {
        /// The path of the journal.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A record of the journal other than the last one has been changed.
    #[error(
        "the journal {path} is damaged at byte {offset} ({why}); nothing was done. Restore the file from a copy, or compare both \
         servers by hand: the Clusters at the source are paused, those at the target too until they were handed over"
    )]
    Damaged {
        /// The path of the journal.
        path: String,
        /// The offset of the record in bytes.
        offset: u64,
        /// The problem with the record.
        why: &'static str,
    },
    /// The journal belongs to another pivot, or its pivot has ended.
    #[error("{0}")]
    Journal(String),
    /// Preflight found problems that must be fixed first.
    #[error("{}", crate::finding::in_words(.0))]
    Preflight(Vec<Finding>),
    /// A copy differs from its object at the source.
    #[error(
        "{object} at the target is not what it is at the source: {difference}; nothing was deleted. {advice}"
    )]
    Different {
        /// The object.
        object: String,
        /// The path of the difference.
        difference: String,
        /// The advice for the user.
        advice: &'static str,
    },
    /// Providers hold objects back.
    #[error("{0}")]
    Blocked(String),
    /// A file in a directory of objects is unusable.
    #[error("{path}: {why}")]
    File {
        /// The path of the file.
        path: String,
        /// The problem, and how to fix it.
        why: String,
    },
}

/// The result of a step.
pub type Result<T, E = Error> = std::result::Result<T, E>;

fn message(error: &kube::Error, has_answered: bool) -> String {
    match (error, has_answered) {
        (kube::Error::Api(status), _) => status.message.clone(),
        (kube::Error::Service(source), true) => {
            let cause = first_cause(source.as_ref());
            format!(
                "the server no longer answers: {cause}; the pivot can go on with --resume when it is back"
            )
        }
        (kube::Error::Service(source), false) => {
            format!("the server of the kubeconfig does not answer: {}", first_cause(source.as_ref()))
        }
        (other, _) => other.to_string(),
    }
}

impl Error {
    fn code(&self) -> Option<(u16, &str)> {
        match self {
            Self::Server { cause, .. } => match cause.as_ref() {
                kube::Error::Api(status) => Some((status.code, &status.reason)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns whether the object, its namespace or its kind does not exist.
    pub fn is_not_found(&self) -> bool {
        self.code().is_some_and(|(code, _)| code == 404)
    }

    /// Returns whether an object of this name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.code().is_some_and(|(_, reason)| reason == "AlreadyExists")
    }

    /// Returns whether the object has changed since it was read.
    pub fn is_conflict(&self) -> bool {
        self.code().is_some_and(|(_, reason)| reason == "Conflict")
    }

    /// Returns whether the server answered, with whatever error status.
    pub fn is_answer(&self) -> bool {
        self.code().is_some()
    }

    /// Returns whether the server refuses the request for good, so that a retry is useless.
    pub fn is_refusal(&self) -> bool {
        self.code().is_some_and(|(code, _)| (400..500).contains(&code) && code != 429)
    }
}
