//! A changed object on its way to the store, and the reasons why the write can fail.

use machinery::status::Status;
use serde_json::Value;

use crate::storage::entries::WriteError;

/// A changed object that is to be stored.
pub(crate) struct Changed {
    pub(crate) object: Value,
    /// Whether field ownership has already been updated.
    pub(crate) ownership: Ownership,
    /// The UID that the client expects. Another UID is a conflict.
    pub(crate) expected_uid: Option<String>,
}

/// The reason why an attempt failed.
pub(crate) enum Failure {
    /// Another client has written the object in the meantime: read it again.
    Raced,
    /// The request is refused with this status.
    Refused(Status),
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Conflict => Self::Raced,
            WriteError::Failed(status) => Self::Refused(status),
        }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Refused(status)
    }
}

/// Whether field ownership is still to be recorded, or an apply has recorded it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ownership {
    Note,
    Applied,
}
