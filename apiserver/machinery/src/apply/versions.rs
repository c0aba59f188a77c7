//! The interface to the versions of a resource.

use serde_json::Value;

use crate::schema::Schema;

/// The versions of a resource. The fields of each manager are recorded in the version that the manager used.
pub trait Versions {
    /// Returns the schema of `api_version` (`group/version`), or `None` if the version does not exist.
    fn schema(&self, api_version: &str) -> Option<&Schema>;

    /// Converts `object` to `api_version`, whether or not that version declares all of its fields. Returns `None` if
    /// the version does not exist.
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value>;

    /// Returns an empty object with its defaults, for a kind that is a Go type in kube-apiserver. Its zero values
    /// (`{}`, `""`, null) exist before any write, so no manager owns them.
    fn empty_object(&self, _api_version: &str) -> Option<Value> {
        None
    }

    /// Returns an error message if the request must fail because of fields that are owned in `api_version`. If it is
    /// `None` and the version does not exist, the ownership is dropped.
    fn refusal(&self, _api_version: &str) -> Option<String> {
        None
    }
}
