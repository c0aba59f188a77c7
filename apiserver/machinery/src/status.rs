//! `metav1.Status`: code, reason and message of each error that clients receive.
//!
//! The messages are those of `k8s.io/apimachinery/pkg/api/errors`.

use serde_json::{Map, Value, json};

use crate::field::{FieldError, aggregate};
use crate::limits::MAX_FIELD_ERRORS;

/// An error of the API server as clients receive it.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason, for example `NotFound`, or empty.
    pub reason: &'static str,
    /// The message for users.
    pub message: String,
    /// The field `details` as an object, or `None` without details.
    pub details: Option<Value>,
}

/// The resource that an error concerns.
#[derive(Debug, Clone, Copy)]
pub struct GroupResource<'a> {
    /// The API group, empty for the core group.
    pub group: &'a str,
    /// The plural name of the resource.
    pub resource: &'a str,
}

impl std::fmt::Display for GroupResource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.group.is_empty() {
            f.write_str(self.resource)
        } else {
            write!(f, "{}.{}", self.resource, self.group)
        }
    }
}

impl Status {
    /// Creates an error without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    fn about(mut self, resource: GroupResource<'_>, name: &str) -> Self {
        let mut details = Map::new();
        if !name.is_empty() {
            details.insert("name".into(), name.into());
        }
        if !resource.group.is_empty() {
            details.insert("group".into(), resource.group.into());
        }
        if !resource.resource.is_empty() {
            details.insert("kind".into(), resource.resource.into());
        }
        self.details = Some(Value::Object(details));
        self
    }

    /// Returns the 404 for a missing object.
    pub fn not_found(resource: GroupResource<'_>, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{resource} \"{name}\" not found")).about(resource, name)
    }

    /// Returns the 404 for a path without a resource.
    pub fn no_such_path() -> Self {
        let mut status = Self::new(404, "NotFound", "the server could not find the requested resource");
        status.details = Some(json!({}));
        status
    }

    /// Returns the 409 for a name that is taken.
    pub fn already_exists(resource: GroupResource<'_>, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{resource} \"{name}\" already exists")).about(resource, name)
    }

    /// Returns the 409 for a precondition or a `resourceVersion` that does not match.
    pub fn conflict(resource: GroupResource<'_>, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// Returns the 422 with one cause for each field error, up to [`MAX_FIELD_ERRORS`]. `kind` is the kind, not the resource.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let resource = GroupResource { group, resource: kind };
        let errors = &errors[..errors.len().min(MAX_FIELD_ERRORS)];
        let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        if errors.len() == MAX_FIELD_ERRORS {
            texts.push(format!("the validation stops after {MAX_FIELD_ERRORS} errors"));
        }
        let list = aggregate(&texts);
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let message = format!("{qualified} \"{name}\" is invalid: {list}");
        let mut status = Self::new(422, "Invalid", message).about(resource, name);
        let causes: Vec<Value> = errors
            .iter()
            .map(|error| {
                let field = if error.field.is_empty() { "<nil>" } else { &error.field };
                json!({"reason": error.kind.reason(), "message": error.body(), "field": field})
            })
            .collect();
        if let Some(Value::Object(details)) = &mut status.details {
            details.insert("causes".into(), Value::Array(causes));
        }
        status
    }

    /// Returns the 409 for a server-side apply that would change fields of other managers. `causes` are pairs of
    /// message and field.
    pub fn apply_conflict(message: impl Into<String>, causes: &[(String, String)]) -> Self {
        let mut status = Self::new(409, "Conflict", message);
        let causes: Vec<Value> = causes
            .iter()
            .map(|(message, field)| {
                json!({"reason": "FieldManagerConflict", "message": message, "field": field})
            })
            .collect();
        status.details = Some(json!({"causes": causes}));
        status
    }

    /// Returns the 500 without a reason, for errors that kube-apiserver does not classify.
    pub fn generic(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// Returns the 422 for a JSON patch that does not fit the object.
    pub fn patch_does_not_fit() -> Self {
        let mut status =
            Self::new(422, "Invalid", "the server rejected our request due to an error in our request");
        status.details = Some(json!({}));
        status
    }

    /// Returns the 400 with `message`.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// Returns the 403 for a request that concerns a resource.
    pub fn forbidden(resource: GroupResource<'_>, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} \"{name}\" is forbidden: {why}")
        };
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    /// Returns the 403 for a path that is not a resource.
    pub fn forbidden_path(why: &str) -> Self {
        let mut status = Self::new(403, "Forbidden", format!("forbidden: {why}"));
        status.details = Some(json!({}));
        status
    }

    /// Returns the 401 for a request without valid credentials.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// Returns the 410 for a `resourceVersion` that is not in the history.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// Returns the 405 with `message`.
    pub fn method_not_allowed(message: impl Into<String>) -> Self {
        let mut status = Self::new(405, "MethodNotAllowed", message);
        status.details = Some(json!({}));
        status
    }

    /// Returns the 405 for a verb that a resource does not support.
    pub fn not_supported(resource: GroupResource<'_>, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind \"{resource}\"");
        Self::new(405, "MethodNotAllowed", message).about(resource, "")
    }

    /// Returns the 406 for a request whose accepted formats the server does not support.
    pub fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    /// Returns the 415 with the accepted media types, separated by commas.
    pub fn unsupported_media_type(accepted: &str) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// Returns the 504 for a request that took too long.
    pub fn timeout(message: impl Into<String>) -> Self {
        let mut status = Self::new(504, "Timeout", format!("Timeout: {}", message.into()));
        status.details = Some(json!({}));
        status
    }

    /// Returns the 413 with `message`.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// Returns the 500 with `message`, which must not contain the text of an object.
    pub fn internal(message: impl Into<String>) -> Self {
        let message: String = message.into();
        let mut status = Self::new(500, "InternalError", format!("Internal error occurred: {message}"));
        status.details = Some(json!({"causes": [{"message": message}]}));
        status
    }

    /// Returns the `Status` object that clients receive.
    pub fn to_value(&self) -> Value {
        let mut object = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            object["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            object["details"] = details.clone();
        }
        object
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}
