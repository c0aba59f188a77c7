//! The result of a handler.

use http::Response;

use super::answer::Answer;
use crate::transport::body::Body;

/// The result of a handler: a complete answer, or a response whose body is still being produced.
pub(crate) enum Reply {
    Answer(Answer, Vec<String>),
    Response(Box<Response<Body>>),
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer, Vec::new())
    }
}
