//! Reads manifests from files, folders and standard input.
//!
//! Each document has its file and first line, so that later errors can name the place.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// An object of a manifest.
#[derive(Debug, Clone)]
pub struct Document {
    /// The file as the user named it, or `<stdin>`.
    pub file: String,
    /// The line on which the document begins, starting with 1.
    pub line: usize,
    /// The object.
    pub object: Value,
    /// The text of the document; for an item of a `List`, that of the whole list.
    text: String,
}

impl Document {
    /// Returns the namespace of the object; `default` if it has none.
    pub fn namespace(&self) -> &str {
        self.object["metadata"]["namespace"].as_str().unwrap_or("default")
    }

    /// Returns the line of a field given by its path (`spec.template.spec.version`), as far as the text shows it.
    pub fn line_of(&self, field: &str) -> Option<usize> {
        let names =
            field.split(['.', '[', ']']).filter(|part| !part.is_empty() && part.parse::<usize>().is_err());
        let lines: Vec<&str> = self.text.lines().collect();
        let mut found = None;
        let mut from = 0;
        for name in names {
            let is_key = |line: &&str| {
                let line = line.trim_start().trim_start_matches("- ").trim_start_matches(['{', '"', ' ']);
                line.strip_prefix(name).is_some_and(|rest| rest.trim_start_matches('"').starts_with(':'))
            };
            let inline =
                |line: &&str| line.contains(&format!("{name}:")) || line.contains(&format!("\"{name}\":"));
            let position = lines.get(from..)?.iter().position(|line| is_key(line) || inline(line));
            let Some(position) = position else { break };
            found = Some(self.line + from + position);
            from += position;
        }
        found
    }
}

/// The errors of manifests before they are applied.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file does not exist or cannot be read.
    #[error("cannot read {file}: {reason}")]
    Unreadable {
        /// The file as the user named it.
        file: String,
        /// The error of the operating system.
        reason: std::io::Error,
    },
    /// The folder contains no manifests.
    #[error("{0} holds no .yaml, .yml or .json file")]
    EmptyFolder(String),
    /// The folder is for kustomize.
    #[error(
        "{folder} has a {file}, from which kustomize makes the manifests: kubectl kustomize {folder} | firstlight … -f -"
    )]
    Kustomization {
        /// The folder as the user named it.
        folder: String,
        /// The name of the file.
        file: &'static str,
    },
    /// The source is an address, and this command fetches nothing.
    #[error("{0} is not fetched by this command; save it to a file, and name that")]
    Address(String),
    /// The sources have no object.
    #[error("no objects passed to apply: {0} has only comments or nothing")]
    Nothing(String),
    /// There are no bundles, or they contain no manifests.
    #[error(
        "-f {BUNDLE} applies the manifests of bundles, and there are none: name a bundle with manifests (--bundle)"
    )]
    NothingBundled,
    /// The text is not YAML or JSON.
    #[error("{file}:{line}:{column}: {reason}")]
    Syntax {
        /// The file as the user named it.
        file: String,
        /// The line, starting with 1.
        line: usize,
        /// The column, starting with 1.
        column: usize,
        /// The parser's message.
        reason: String,
    },
    /// The document is not a Kubernetes object.
    #[error("{file}:{line}: {reason}")]
    NotAnObject {
        /// The file as the user named it.
        file: String,
        /// The line on which the document begins.
        line: usize,
        /// The problem.
        reason: String,
    },
}

/// Returns all documents of all sources in order; `List` objects are replaced by their items.
///
/// # Errors
/// The first error, with its place.
pub fn read_all(sources: &[PathBuf]) -> Result<Vec<Document>, ReadError> {
    let mut documents = Vec::new();
    for (file, text) in sources.iter().map(|source| texts(source)).collect::<Result<Vec<_>, _>>()?.concat() {
        documents.extend(parse(&file, &text)?);
    }
    Ok(documents)
}

/// The names of the file by which kustomize recognises a folder.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The source that stands for the manifests of bundles.
pub const BUNDLE: &str = "bundle:";

/// Manifests that are not on the disk.
#[derive(Debug, Default)]
pub struct Elsewhere {
    /// The names and texts of manifests for which the source [`BUNDLE`] stands.
    pub bundled: Vec<(String, String)>,
    /// The addresses and texts of manifests that have been fetched.
    pub fetched: Vec<(String, String)>,
}

/// Does the same as [`read_all`], for commands that apply what they read: sources without any object are an error.
///
/// # Errors
/// The first error, with its place.
pub fn read_to_apply(sources: &[PathBuf], elsewhere: &Elsewhere) -> Result<Vec<Document>, ReadError> {
    let mut documents = Vec::new();
    for source in sources {
        let fetched = elsewhere.fetched.iter().find(|(address, _)| source.as_os_str() == address.as_str());
        let texts = match fetched {
            Some(fetched) => vec![fetched.clone()],
            None if source.as_os_str() == BUNDLE && !elsewhere.bundled.is_empty() => {
                elsewhere.bundled.clone()
            }
            None => texts(source)?,
        };
        for (file, text) in texts {
            documents.extend(parse(&file, &text)?);
        }
    }
    if documents.is_empty() && !sources.is_empty() {
        let named: Vec<String> = sources.iter().map(|source| source.display().to_string()).collect();
        return Err(ReadError::Nothing(named.join(", ")));
    }
    Ok(documents)
}

/// Returns whether a source is an address of a web server.
pub fn is_address(source: &Path) -> bool {
    let text = source.to_string_lossy();
    ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme))
}

/// Returns the names and texts of the manifests of a file, a folder, or standard input (`-`).
///
/// # Errors
/// A file cannot be read, or the folder has none.
pub fn texts(source: &Path) -> Result<Vec<(String, String)>, ReadError> {
    let file = source.display().to_string();
    let unreadable = |file: &str, reason| ReadError::Unreadable { file: file.to_owned(), reason };
    if file == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(|error| unreadable("<stdin>", error))?;
        return Ok(vec![("<stdin>".to_owned(), text)]);
    }
    if file == BUNDLE {
        return Err(ReadError::NothingBundled);
    }
    if is_address(source) {
        return Err(ReadError::Address(file));
    }
    if !source.is_dir() {
        let text = std::fs::read_to_string(source).map_err(|error| unreadable(&file, error))?;
        return Ok(vec![(file, text)]);
    }
    if let Some(kustomization) = KUSTOMIZATIONS.into_iter().find(|name| source.join(name).exists()) {
        return Err(ReadError::Kustomization { folder: file, file: kustomization });
    }
    let entries = std::fs::read_dir(source).map_err(|error| unreadable(&file, error))?;
    let manifest = |path: &PathBuf| {
        path.is_file() && path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json")
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(manifest).collect();
    paths.sort();
    if paths.is_empty() {
        return Err(ReadError::EmptyFolder(file));
    }
    let read = |path: PathBuf| {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&name, error))?;
        Ok((name, text))
    };
    paths.into_iter().map(read).collect()
}

/// Returns the documents of a text.
///
/// # Errors
/// The first error, with its place.
pub fn parse(file: &str, text: &str) -> Result<Vec<Document>, ReadError> {
    let mut documents = Vec::new();
    for (line, part) in split(text) {
        let value = parse_one(file, line, part)?;
        match value {
            Value::Null => {}
            Value::Object(_) => flatten(file, line, part, value, &mut documents)?,
            other => {
                let reason =
                    format!("expected an object with apiVersion and kind, found {}", describe(&other));
                return Err(ReadError::NotAnObject { file: file.to_owned(), line, reason });
            }
        }
    }
    Ok(documents)
}

/// Returns the documents between `---` lines, each with its first line number.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut start_line, mut offset) = (0, 1, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let bare = line.trim_end();
        if bare == "---" || bare.starts_with("--- ") {
            parts.push((start_line, &text[start..offset]));
            start = offset + line.len();
            start_line = number + 2;
        }
        offset += line.len();
    }
    parts.push((start_line, &text[start..]));
    parts
}

fn parse_one(file: &str, line: usize, text: &str) -> Result<Value, ReadError> {
    let has_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    if !text.lines().any(has_content) {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let (row, column) =
            error.location().map_or((1, 1), |place| (place.line() as usize, place.column() as usize));
        let reason = error.to_string();
        let reason = reason.lines().next().unwrap_or("not valid YAML");
        // The parser counts lines from the beginning of the document.
        let reason =
            reason.split_once(&format!("line {row} column {column}: ")).map_or(reason, |(_, what)| what);
        let reason = in_words(reason);
        ReadError::Syntax { file: file.to_owned(), line: line + row - 1, column, reason }
    })
}

/// Returns the words of the parser without its own names.
fn in_words(reason: &str) -> String {
    if reason.starts_with("budget breached") {
        return "it is larger or deeper, or has more values or aliases, than any manifest".to_owned();
    }
    let (reason, _) = reason.split_once(", set DuplicateKeyPolicy").unwrap_or((reason, ""));
    reason.to_owned()
}

fn flatten(
    file: &str,
    line: usize,
    source: &str,
    mut value: Value,
    documents: &mut Vec<Document>,
) -> Result<(), ReadError> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let missing: Vec<&str> = ["apiVersion", "kind"].into_iter().filter(|key| text(key).is_empty()).collect();
    if !missing.is_empty() {
        let reason = format!("the object has no {}", missing.join(" and no "));
        return Err(ReadError::NotAnObject { file: file.to_owned(), line, reason });
    }
    if text("kind") == "List" && text("apiVersion") == "v1" {
        if let Some(Value::Array(items)) = value.get_mut("items").map(Value::take) {
            for item in items {
                flatten(file, line, source, item, documents)?;
            }
        }
        return Ok(());
    }
    documents.push(Document { file: file.to_owned(), line, object: value, text: source.to_owned() });
    Ok(())
}

fn describe(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) => "a boolean",
        Value::Null | Value::Object(_) => "nothing",
    }
}
