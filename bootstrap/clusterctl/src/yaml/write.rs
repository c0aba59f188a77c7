//! Writes values as YAML documents.

use serde_json::Value;

use crate::{Error, Result};

/// Writes one value as a document, with a line feed at the end.
///
/// # Errors
/// The emitter fails; this program's values do not cause that.
pub fn write(value: &Value) -> Result<String> {
    machinery::yaml::write(value).map_err(|error| Error::Template(format!("cannot write YAML: {error}")))
}

/// Writes several values with `---` between them, without a line feed at the end.
///
/// # Errors
/// As [`write`].
pub fn write_all(values: &[Value]) -> Result<String> {
    let documents = values.iter().map(write).collect::<Result<Vec<_>>>()?;
    let text = documents.join("---\n");
    Ok(text.strip_suffix('\n').map_or(text.clone(), str::to_owned))
}
