//! Errors and `UserInfo` of reviews and token requests.

use machinery::field::FieldError;
use machinery::status::Status;
use serde_json::{Value, json};

use super::spec;

/// Returns 422 for a token request.
pub(crate) fn invalid_request(name: &str, errors: &[FieldError]) -> Status {
    Status::invalid("authentication.k8s.io", "TokenRequest", name, errors)
}

/// Returns 422 for a review; kube-apiserver names no kind in it.
pub(crate) fn invalid(errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(spec::GROUP, "", "", errors)) }
}

/// Returns the user as `UserInfo`.
pub(crate) fn user_info(user: &::access::User) -> Value {
    let mut info = json!({"username": user.name});
    if !user.uid.is_empty() {
        info["uid"] = user.uid.as_str().into();
    }
    if !user.groups.is_empty() {
        info["groups"] = user.groups.clone().into();
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}
