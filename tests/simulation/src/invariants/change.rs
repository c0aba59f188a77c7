//! What the rules judge.

use serde_json::Value;

/// A change of an object.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    /// The key of the object.
    pub key: &'a str,
    /// The object before the change; `None` if it is new.
    pub old: Option<&'a Value>,
    /// The object after the change; `None` if it is gone.
    pub new: Option<&'a Value>,
}
