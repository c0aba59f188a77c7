//! The output of `config repositories`.

use serde_json::{Value, json};

use super::Provider;
use crate::{Result, table, yaml};

/// Writes the providers as a table.
pub fn table(providers: &[Provider]) -> String {
    let row = |provider: &Provider| {
        let (folder, file) = provider.split_url();
        [provider.name.clone(), provider.type_name().to_owned(), folder.to_owned(), file.to_owned()]
    };
    let mut rows = vec![["NAME", "TYPE", "URL", "FILE"].map(str::to_owned)];
    rows.extend(providers.iter().map(row));
    table::of(&rows)
}

/// Writes the providers as a YAML list.
///
/// # Errors
/// As [`yaml::write`].
pub fn yaml(providers: &[Provider]) -> Result<String> {
    let entry = |provider: &Provider| {
        let (folder, file) = provider.split_url();
        json!({"File": file, "Name": provider.name, "ProviderType": provider.type_name(), "URL": folder})
    };
    yaml::write(&Value::Array(providers.iter().map(entry).collect()))
}
