//! The errors of this crate.

/// Why bootstrap data cannot be applied. The text never contains values of the data, which may be secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The Secret's key `format`.
    #[error("the format {0:?} of the bootstrap data is not known: use cloud-config or ignition")]
    Format(String),
    /// A line of the data.
    #[error("line {line} of the bootstrap data: {why}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The data as a whole.
    #[error("the bootstrap data {0}")]
    Data(String),
    /// A field of the data.
    #[error("{field}: {why}")]
    Field {
        /// The path of the field, for example `write_files[2].encoding`.
        field: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A limit of [`limits`](crate::limits).
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit in bytes.
        limit: usize,
    },
}

impl Error {
    /// Returns an error of a field.
    pub(crate) fn field(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Field { field: field.into(), why: why.into() }
    }
}
