//! Why a pivot could not go on.

use crate::preflight::Finding;

/// Why a pivot could not go on. Nothing is lost: whatever the error, the journal says where it stands.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A server refused a request, or could not be reached.
    #[error("{server}: {what}: {}", message(.source))]
    Server {
        /// `source` or `target`.
        server: &'static str,
        /// Verb and object.
        what: String,
        /// What the client reported.
        source: Box<kube::Error>,
    },
    /// A server's answer is not what its API promises.
    #[error("{server}: {what}: the answer cannot be read: {source}")]
    Answer {
        /// `source` or `target`.
        server: &'static str,
        /// Verb and object.
        what: String,
        /// Where in it.
        source: serde_json::Error,
    },
    /// The journal's disk refuses.
    #[error("the journal {path}: {source}")]
    Disk {
        /// Where it is.
        path: String,
        /// What the disk says.
        source: std::io::Error,
    },
    /// A record that is not the last one has been changed.
    #[error(
        "the journal {path} is damaged at byte {offset} ({why}); nothing was done. Restore the file from a copy, or compare both \
         servers by hand: the Clusters at the source are paused, those at the target too until they were handed over"
    )]
    Damaged {
        /// Where it is.
        path: String,
        /// The first byte of the record.
        offset: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The journal belongs to another pivot, or its pivot has ended.
    #[error("{0}")]
    Journal(String),
    /// Preflight found what must be put right first.
    #[error("{}", crate::preflight::in_words(.0))]
    Preflight(Vec<Finding>),
    /// The copy of an object is not what it must be.
    #[error(
        "{object} at the target is not what it is at the source: {difference}; nothing was deleted. {advice}"
    )]
    Different {
        /// Which object.
        object: String,
        /// Where they differ.
        difference: String,
        /// What to do.
        advice: &'static str,
    },
    /// Providers hold objects back.
    #[error("{0}")]
    Blocked(String),
    /// A file of a directory of objects cannot be used.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it, and what to do.
        why: String,
    },
}

/// The result of a step.
pub type Result<T, E = Error> = std::result::Result<T, E>;

fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        kube::Error::Service(source) => {
            format!("cannot be reached: {source}; the pivot can go on with --resume when it is back")
        }
        other => other.to_string(),
    }
}

impl Error {
    fn code(&self) -> Option<(u16, &str)> {
        match self {
            Self::Server { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => Some((status.code, &status.reason)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The object, its namespace or its kind is not there.
    pub fn is_not_found(&self) -> bool {
        self.code().is_some_and(|(code, _)| code == 404)
    }

    /// The name is taken.
    pub fn is_already_exists(&self) -> bool {
        self.code().is_some_and(|(_, reason)| reason == "AlreadyExists")
    }

    /// The object has changed since it was read.
    pub fn is_conflict(&self) -> bool {
        self.code().is_some_and(|(_, reason)| reason == "Conflict")
    }

    /// The server was reached, and answered that it will not do it now.
    pub fn is_answer(&self) -> bool {
        self.code().is_some()
    }

    /// The server understood the request and will not do it, however often it is asked.
    pub fn is_refusal(&self) -> bool {
        self.code().is_some_and(|(code, _)| (400..500).contains(&code) && code != 429)
    }
}
