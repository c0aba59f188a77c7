//! `metav1.Status`: the one file that knows which code, reason and words an error has on the wire.
//!
//! Wording follows `k8s.io/apimachinery/pkg/api/errors`.

use serde_json::{Map, Value, json};

use crate::field::{FieldError, aggregate};

/// An error of the API server as clients see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason, `NotFound`; empty for none.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// `details`, as an object; `None` for no details.
    pub details: Option<Value>,
}

/// Which resource an error is about.
#[derive(Debug, Clone, Copy)]
pub struct GroupResource<'a> {
    /// API group, empty for the core group.
    pub group: &'a str,
    /// The plural resource name.
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
    /// An error with no details.
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

    /// 404 for an object.
    pub fn not_found(resource: GroupResource<'_>, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{resource} \"{name}\" not found")).about(resource, name)
    }

    /// 404 for a path that serves nothing.
    pub fn no_such_path() -> Self {
        let mut status = Self::new(404, "NotFound", "the server could not find the requested resource");
        status.details = Some(json!({}));
        status
    }

    /// 409, the name is taken.
    pub fn already_exists(resource: GroupResource<'_>, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{resource} \"{name}\" already exists")).about(resource, name)
    }

    /// 409, a precondition or the `resourceVersion` does not hold.
    pub fn conflict(resource: GroupResource<'_>, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// 422 with one cause a field error. `kind` is the kind, not the resource.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let resource = GroupResource { group, resource: kind };
        let list = aggregate(&errors.iter().map(ToString::to_string).collect::<Vec<_>>());
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

    /// 409, a server-side apply would change fields that others own: `causes` are (message, field).
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

    /// 500 without a reason: an error that kube-apiserver does not classify.
    pub fn generic(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 422, a JSON patch does not fit the object.
    pub fn patch_does_not_fit() -> Self {
        let mut status =
            Self::new(422, "Invalid", "the server rejected our request due to an error in our request");
        status.details = Some(json!({}));
        status
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 403.
    pub fn forbidden(resource: GroupResource<'_>, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} \"{name}\" is forbidden: {why}")
        };
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    /// 403 for a path that is no resource.
    pub fn forbidden_path(why: &str) -> Self {
        let mut status = Self::new(403, "Forbidden", format!("forbidden: {why}"));
        status.details = Some(json!({}));
        status
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 410, the version asked for is no longer in the history.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 405.
    pub fn method_not_allowed(message: impl Into<String>) -> Self {
        let mut status = Self::new(405, "MethodNotAllowed", message);
        status.details = Some(json!({}));
        status
    }

    /// 405 for a verb that a resource does not have.
    pub fn not_supported(resource: GroupResource<'_>, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind \"{resource}\"");
        Self::new(405, "MethodNotAllowed", message).about(resource, "")
    }

    /// 406, no format that the client accepts is offered.
    pub fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    /// 415, with the media types that are accepted, comma-separated.
    pub fn unsupported_media_type(accepted: &str) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 504, the request took too long.
    pub fn timeout(message: impl Into<String>) -> Self {
        let mut status = Self::new(504, "Timeout", format!("Timeout: {}", message.into()));
        status.details = Some(json!({}));
        status
    }

    /// 413.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 500. Never carries the text of an object.
    pub fn internal(message: impl Into<String>) -> Self {
        let message: String = message.into();
        let mut status = Self::new(500, "InternalError", format!("Internal error occurred: {message}"));
        status.details = Some(json!({"causes": [{"message": message}]}));
        status
    }

    /// The object on the wire.
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
