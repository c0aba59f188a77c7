//! Reads links, lists and strings of responses.

use serde_json::Value;

/// Returns the path of the link at `pointer`.
pub(super) fn link(body: &Value, pointer: &str) -> Option<String> {
    body.pointer(pointer)?["@odata.id"].as_str().filter(|path| path.starts_with('/')).map(str::to_owned)
}

/// Returns the paths of a list of links.
pub(super) fn paths(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|entry| link(entry, "")).collect()
}

/// Returns the paths of a collection's members.
pub(super) fn members(collection: &Value) -> Vec<String> {
    paths(&collection["Members"])
}

/// Returns the strings of a list.
pub(super) fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|entry| entry.as_str().map(str::to_owned)).collect()
}

/// Returns the string at `pointer`, or an empty one.
pub(super) fn text(body: &Value, pointer: &str) -> String {
    body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
}
