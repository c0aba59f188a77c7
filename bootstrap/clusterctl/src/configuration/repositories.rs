//! The output of `config repositories`.

use serde_json::{Value, json};

use super::Provider;
use crate::{Result, yaml};

/// Width of the narrowest column, including its gap.
const COLUMN_MIN: usize = 10;
/// Spaces after the widest cell.
const GAP: usize = 3;

/// Writes the providers as a table.
pub fn table(providers: &[Provider]) -> String {
    let row = |provider: &Provider| {
        let (folder, file) = provider.split_url();
        [provider.name.clone(), provider.type_name().to_owned(), folder.to_owned(), file.to_owned()]
    };
    let mut rows = vec![["NAME", "TYPE", "URL", "FILE"].map(str::to_owned)];
    rows.extend(providers.iter().map(row));
    let width = |column: usize| {
        let widest = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        (widest + GAP).max(COLUMN_MIN)
    };
    let widths = [width(0), width(1), width(2), 0];
    let mut text = String::new();
    for row in &rows {
        row.iter().zip(widths).for_each(|(cell, width)| text.push_str(&format!("{cell:width$}")));
        text.push('\n');
    }
    text
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
