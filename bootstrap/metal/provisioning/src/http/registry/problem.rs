//! Errors of the registry, and their form by the distribution specification.

use bundle::Digest;
use http::{Response, StatusCode};
use serde_json::json;

use crate::http::file::{self, Body};

/// The errors of the registry.
#[derive(Debug, PartialEq, Eq)]
pub enum Problem {
    /// The path has no valid name of a repository.
    NameInvalid,
    /// No bundle has the repository.
    NameUnknown(String),
    /// The repository has no manifest with this tag or digest, or none that the client accepts.
    ManifestUnknown(String),
    /// The repository has no blob with this digest.
    BlobUnknown(Digest),
    /// The text is no digest.
    DigestInvalid(String),
    /// The size of a page is no number.
    PageInvalid(String),
    /// The request is a write.
    Unsupported,
}

impl Problem {
    /// Returns the response.
    pub fn response(self) -> Response<Body> {
        let (status, code, message) = match self {
            Self::NameInvalid => {
                (StatusCode::BAD_REQUEST, "NAME_INVALID", "no valid name of a repository".into())
            }
            Self::NameUnknown(name) => {
                (StatusCode::NOT_FOUND, "NAME_UNKNOWN", format!("no bundle has the repository {name:?}"))
            }
            Self::ManifestUnknown(reference) => (
                StatusCode::NOT_FOUND,
                "MANIFEST_UNKNOWN",
                format!("no bundle has the manifest {reference:?} in a form that is accepted"),
            ),
            Self::BlobUnknown(digest) => {
                (StatusCode::NOT_FOUND, "BLOB_UNKNOWN", format!("the repository has no blob {digest}"))
            }
            Self::DigestInvalid(text) => {
                (StatusCode::BAD_REQUEST, "DIGEST_INVALID", format!("{text:?} is no digest with sha256"))
            }
            Self::PageInvalid(text) => {
                (StatusCode::BAD_REQUEST, "PAGINATION_NUMBER_INVALID", format!("n={text} is no number"))
            }
            Self::Unsupported => (
                StatusCode::METHOD_NOT_ALLOWED,
                "UNSUPPORTED",
                "this registry is read-only: add images with `firstlight bundle add`".into(),
            ),
        };
        let body = json!({"errors": [{"code": code, "message": message}]});
        file::typed(status, "application/json", body.to_string())
    }
}
