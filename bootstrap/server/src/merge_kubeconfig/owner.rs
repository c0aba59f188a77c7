//! Whose the entries of a kubeconfig are: an extension of each context names the data directory of its server.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::record::Record;
use crate::data_directory::DataDirectory;

/// The name of the extension of a context that names the data directory.
const EXTENSION: &str = "firstlight";
const DIRECTORY: &str = "data-directory";

/// Adds the extension that names the data directory to the contexts of a kubeconfig.
pub(super) fn mark(config: &mut Map<String, Value>, directory: &DataDirectory) {
    let extension = json!([{"name": EXTENSION, "extension": {DIRECTORY: identity(directory)}}]);
    for entry in config.get_mut("contexts").and_then(Value::as_array_mut).into_iter().flatten() {
        entry["context"]["extensions"] = extension.clone();
    }
}

/// Returns the name of the context that belongs to the server on `directory`.
pub(super) fn owned(config: &Map<String, Value>, directory: &DataDirectory) -> Option<String> {
    let (now, before) = (identity(directory), former_identity(directory));
    let mut contexts = config.get("contexts")?.as_array()?.iter();
    let is_ours = |entry: &&Value| {
        directory_of(entry).is_some_and(|named| named == now || Some(named) == before.as_deref())
    };
    contexts.find(is_ours)?["name"].as_str().map(str::to_owned)
}

/// Returns the data directory that the extension of a context names.
fn directory_of(entry: &Value) -> Option<&str> {
    let mut extensions = entry["context"]["extensions"].as_array()?.iter();
    extensions.find(|one| one["name"] == EXTENSION)?["extension"][DIRECTORY].as_str()
}

/// Returns what the other servers that are merged into `file` remember. One may go back to the context of another, which can go first.
pub(super) fn others(
    config: &Map<String, Value>,
    directory: &DataDirectory,
    file: &Path,
) -> Vec<(DataDirectory, Record)> {
    let identity = identity(directory);
    let contexts = config.get("contexts").and_then(Value::as_array).into_iter().flatten();
    let named = contexts.filter_map(directory_of).filter(|other| *other != identity).map(str::to_owned);
    Record::in_file(file, named)
}

/// Returns the path by which a context names a data directory.
pub(super) fn identity(directory: &DataDirectory) -> String {
    let path = directory.path();
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Returns the path that a data directory had when its server was merged, if it was moved since. A copy leaves the entries to the original.
fn former_identity(directory: &DataDirectory) -> Option<String> {
    let before = Record::of(directory).ok()??.directory?;
    let original = DataDirectory::locate(Some(Path::new(&before))).ok()?;
    Record::of(&original).is_ok_and(|record| record.is_none()).then_some(before)
}
