//! Reads lists of hosts. Errors contain file and line, and no part of a password.

use anyhow::{Result, bail};
use csv::{StringRecord, Trim};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

/// A host of a list. An empty string means that the value was not given.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Entry {
    pub name: String,
    pub namespace: String,
    pub mac: String,
    pub address: String,
    pub username: String,
    pub password: Password,
    pub disable_certificate_verification: Option<bool>,
    pub power: String,
    pub boot_mode: String,
    pub architecture: String,
    pub root_device: String,
    pub online: Option<bool>,
    pub description: String,
}

/// The names of the columns, which are those of [`Entry`].
const COLUMNS: [&str; 13] = [
    "name",
    "namespace",
    "mac",
    "address",
    "username",
    "password",
    "disableCertificateVerification",
    "power",
    "bootMode",
    "architecture",
    "rootDevice",
    "online",
    "description",
];

/// A password, which must not appear in errors and logs.
#[derive(Clone, Default)]
pub struct Password(pub String);

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password")
    }
}

impl<'de> Deserialize<'de> for Password {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer);
        text.map(Self).map_err(|_| serde::de::Error::custom("password must be text: put it in quotes"))
    }
}

/// Returns the hosts of a list, each with its line number.
///
/// # Errors
/// The list cannot be parsed.
pub fn read(file: &str, text: &str) -> Result<Vec<(usize, Entry)>> {
    let end = file.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase();
    let entries = match end.as_str() {
        "csv" => from_csv(file, text)?,
        "yaml" | "yml" | "json" => from_yaml(file, text)?,
        _ => bail!("{file}: the name must end in .csv, .yaml, .yml or .json, which says what is in it"),
    };
    if entries.is_empty() {
        bail!("{file} lists no host");
    }
    Ok(entries)
}

fn from_csv(file: &str, text: &str) -> Result<Vec<(usize, Entry)>> {
    let mut builder = csv::ReaderBuilder::new();
    let builder = builder.trim(Trim::All).comment(Some(b'#')).delimiter(delimiter(text));
    let mut reader = builder.from_reader(text.as_bytes());
    let mut entries = Vec::new();
    let header: StringRecord = match reader.headers() {
        Ok(header) => header.iter().map(column).collect(),
        Err(error) => bail!("{}", csv_problem(file, text, &error)),
    };
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => bail!("{}", csv_problem(file, text, &error)),
        };
        let line = record.position().map_or(1, |position| line_of(text, position));
        match record.deserialize(Some(&header)) {
            Ok(entry) => entries.push((line, entry)),
            Err(error) => bail!("{}", csv_problem(file, text, &error)),
        }
    }
    Ok(entries)
}

/// Returns what separates values: a spreadsheet writes semicolons where a comma is part of numbers.
fn delimiter(text: &str) -> u8 {
    let header =
        text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or_default();
    if header.contains(';') && !header.contains(',') { b';' } else { b',' }
}

/// Returns the name of a column as the fields of an entry have it, whichever letters are upper case.
fn column(name: &str) -> &str {
    COLUMNS.iter().find(|known| known.eq_ignore_ascii_case(name)).copied().unwrap_or(name)
}

/// Returns the line on which a record begins. The parser's position precedes the blank lines and comments that it skips.
fn line_of(text: &str, place: &csv::Position) -> usize {
    let rest = usize::try_from(place.byte()).ok().and_then(|byte| text.get(byte..)).unwrap_or_default();
    let skipped = rest.lines().take_while(|line| line.trim().is_empty() || line.starts_with('#')).count();
    usize::try_from(place.line()).unwrap_or(1) + skipped
}

fn csv_problem(file: &str, text: &str, error: &csv::Error) -> String {
    let line = error.position().map_or(1, |place| line_of(text, place));
    let problem = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!(
                "{len} values where the header has {expected_len} columns: each separator counts, also of empty ones"
            )
        }
        csv::ErrorKind::Utf8 { .. } => "not UTF-8".to_owned(),
        csv::ErrorKind::Deserialize { err, .. } => err.kind().to_string(),
        other => format!("{other:?}"),
    };
    format!("{file}:{line}: {problem}")
}

fn from_yaml(file: &str, text: &str) -> Result<Vec<(usize, Entry)>> {
    match serde_saphyr::from_str::<Vec<Spanned<Entry>>>(text) {
        Ok(entries) => {
            let line = |entry: &Spanned<Entry>| usize::try_from(entry.referenced.line()).unwrap_or(1);
            Ok(entries.into_iter().map(|entry| (line(&entry), entry.value)).collect())
        }
        Err(error) => {
            let (line, column) = error.location().map_or((1, 1), |place| (place.line(), place.column()));
            // Further lines of the message quote the text around the position, which may contain a password.
            let problem = error.to_string();
            let problem = problem.lines().next().unwrap_or("not valid YAML");
            let place = format!("line {line} column {column}: ");
            let problem = problem.split_once(&place).map_or(problem, |(_, what)| what);
            bail!("{file}:{line}: {problem}; a list of maps is expected, such as `- name: node-1`")
        }
    }
}
