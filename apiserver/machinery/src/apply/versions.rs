//! The versions of a resource.

use serde_json::Value;

use crate::schema::Schema;

/// The versions of a resource, as far as ownership needs them: each manager's fields are written in the
/// version that the manager used.
pub trait Versions {
    /// The schema of `api_version` (`group/version`); `None` when that version does not exist any more.
    fn schema(&self, api_version: &str) -> Option<&Schema>;

    /// `object` in `api_version`, whether or not that version declares all of its fields; `None` when the version does not
    /// exist any more.
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value>;

    /// For a kind that is a Go type on a real server: an object of it with nothing set, as it would be defaulted. What
    /// of this is a zero value (`{}`, `""`, null) is there before anybody writes, so nobody owns it.
    fn empty_object(&self, _api_version: &str) -> Option<Value> {
        None
    }

    /// Why what is owned in `api_version` cannot be looked at, when that ends a request. Otherwise what is owned in a version that
    /// does not exist any more is forgotten.
    fn refusal(&self, _api_version: &str) -> Option<String> {
        None
    }
}
