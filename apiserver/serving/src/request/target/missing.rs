//! The answers for paths that a resource does not have.

use http::HeaderMap;
use machinery::status::Status;

use crate::response::answer::Answer;
use crate::response::reply::Reply;

/// The response for a path that its resource does not have.
pub(crate) enum Missing {
    /// The plain text for any path that is not served.
    Page,
    Path,
    /// The object has no such subresource. The second value is the deprecation warning of that version, if
    /// any.
    Part(Status, Option<String>),
}

impl Missing {
    pub(crate) fn reply(&self, request: &HeaderMap) -> Reply {
        match self {
            Self::Page => Answer::page_not_found().into(),
            Self::Path => Answer::error(&Status::no_such_path(), request).into(),
            Self::Part(status, warning) => {
                Reply::Answer(Answer::error(status, request), warning.iter().cloned().collect())
            }
        }
    }
}
