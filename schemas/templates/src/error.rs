//! Why a template cannot be parsed or rendered.

use thiserror::Error;

/// Why a template cannot be parsed or rendered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The text is no template. It is found without variables, so admission can refuse it.
    #[error("the template cannot be parsed: line {line}: {message}")]
    Syntax {
        /// The line of the template, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// The template fails with these variables.
    #[error("the template cannot be rendered: line {line}: {message}")]
    Rendering {
        /// The line of the template, from 1.
        line: usize,
        /// What failed there.
        message: String,
    },
    /// The template makes more work than is allowed (`limits.rs`).
    #[error(
        "the template cannot be rendered: line {line}: it makes more than {limit} {what}; make it smaller"
    )]
    Limit {
        /// The line of the template, from 1.
        line: usize,
        /// What there is too much of.
        what: &'static str,
        /// How much of it is allowed.
        limit: u64,
    },
}

/// A failure before its line is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A function or an operation that cannot be done.
    Message(String),
    /// A limit that is reached.
    Limit(&'static str, u64),
}

impl Failure {
    /// The error with the line of the template.
    pub(crate) fn at(self, line: usize) -> Error {
        match self {
            Failure::Message(message) => Error::Rendering { line, message },
            Failure::Limit(what, limit) => Error::Limit { line, what, limit },
        }
    }

    /// The same failure with the name of the function that failed.
    pub(crate) fn in_function(self, name: &str) -> Failure {
        match self {
            Failure::Message(message) => Failure::Message(format!("{name}: {message}")),
            limit => limit,
        }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::Message(message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Failure {
        Failure::Message(message.to_owned())
    }
}

/// A value, or why there is none.
pub(crate) type Outcome<T> = Result<T, Failure>;
