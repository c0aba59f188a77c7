//! Reads parts of a configuration.

use serde_json::Value;

/// Returns a field's text; nothing if it is absent.
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Returns the entries of a list with their paths.
pub fn each<'a>(config: &'a Value, section: &str, list: &str) -> impl Iterator<Item = (String, &'a Value)> {
    let path = format!("{section}.{list}");
    let entries = config[section][list].as_array().into_iter().flatten().enumerate();
    entries.map(move |(index, entry)| (format!("{path}[{index}]"), entry))
}

/// Checks that a path is absolute.
///
/// # Errors
/// Names the field.
pub fn absolute(field: &str, path: &str) -> Result<(), String> {
    if path.starts_with('/') { Ok(()) } else { Err(format!("{field} must be an absolute path")) }
}
