//! What a recording holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Requests that belong together, in a namespace of their own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// `topic/short-description`, unique.
    pub name: String,
    /// The behaviour that it pins.
    #[serde(default)]
    pub about: String,
    /// Names of fixtures that must be served.
    #[serde(default)]
    pub setup: Vec<String>,
    /// The requests, in order.
    pub steps: Vec<Step>,
}

/// One request and its recorded answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// What is special about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The HTTP method.
    pub method: String,
    /// Path, with `{ns}` and saved values to be replaced, and perhaps a query.
    pub path: String,
    /// Query parameters; a list repeats one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, Value>,
    /// Headers that replace the usual ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// A JSON body.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
    /// Any other body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_text: Option<String>,
    /// Whom to impersonate.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub impersonate: Option<Impersonate>,
    /// Values of the answer that later steps use: name, dotted path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub save: BTreeMap<String, String>,
    /// The answer is a stream of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
    /// What to wait for before the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// What not to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
    /// The recorded answer, normalised.
    #[serde(default, skip_serializing)]
    pub response: Response,
}

/// Impersonation headers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Impersonate {
    /// User name.
    pub user: String,
    /// Groups.
    pub groups: Vec<String>,
    /// User id.
    pub uid: String,
}

/// How long to read a stream.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Watch {
    /// Stop after so many events; 0: only by time.
    pub events: usize,
    /// Stop after so many seconds; 0: two seconds.
    pub seconds: f64,
}

/// A condition and its deadline.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wait {
    /// What to GET; empty: let the time pass.
    pub path: String,
    /// `code=404`, `a.b=v`, `a.b!=v`, `!a.b`, `a.b`, several joined by `, `; empty: any success.
    pub until: String,
    /// The deadline; 0: ten seconds.
    pub seconds: f64,
}

/// Exceptions from the comparison.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Compare {
    /// Dotted paths that are left out.
    pub ignore: Vec<String>,
    /// `loose`: only code and reason count.
    pub message: String,
}

/// An answer, recorded or fresh.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Response {
    /// HTTP status.
    pub code: u16,
    /// The header of that name.
    pub content_type: String,
    /// Texts of the `Warning` headers.
    pub warnings: Vec<String>,
    /// A JSON or YAML body; null: none.
    pub body: Value,
    /// Events of a watch.
    pub events: Vec<Value>,
    /// Any other body.
    pub text: String,
    /// What went wrong around the request: a condition not met, nothing to save.
    pub trouble: Vec<String>,
}

/// Definitions by the name of their fixture.
pub type Fixtures = BTreeMap<String, Vec<Value>>;

/// Folders with recordings. A topic may stand in several of them.
#[derive(Debug, Clone)]
pub struct Golden(Vec<PathBuf>);

impl Golden {
    /// The recordings of this crate: `golden/`, and what was recorded since in `recorded/`.
    pub fn committed() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self(vec![root.join("golden"), root.join("recorded")])
    }

    /// The recordings in `folder`.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self(vec![folder])
    }

    /// Names of the topics, in order.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn topics(&self) -> Result<Vec<String>> {
        let mut topics = BTreeSet::new();
        for folder in &self.0 {
            for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
                let name = entry?.file_name().to_string_lossy().into_owned();
                let topic = name.strip_suffix(".json").filter(|topic| !topic.starts_with('_'));
                topics.extend(topic.map(str::to_owned));
            }
        }
        Ok(topics.into_iter().collect())
    }

    /// How many cases each topic has.
    ///
    /// # Errors
    /// A file cannot be read or is no recording.
    pub fn totals(&self) -> Result<BTreeMap<String, usize>> {
        let count = |topic: String| {
            let cases = self.cases(&topic)?.len();
            Ok((topic, cases))
        };
        self.topics()?.into_iter().map(count).collect()
    }

    /// The cases of a topic, in the order in which they are replayed.
    ///
    /// # Errors
    /// A file cannot be read or is no recording.
    pub fn cases(&self, topic: &str) -> Result<Vec<Case>> {
        let parts: Vec<Vec<Case>> = self.read(&format!("{topic}.json"))?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// The definitions that cases share.
    ///
    /// # Errors
    /// A file cannot be read or holds no definitions.
    pub fn fixtures(&self) -> Result<Fixtures> {
        let parts: Vec<Fixtures> = self.read("_fixtures.json")?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// What the folders hold under that name.
    fn read<T: serde::de::DeserializeOwned>(&self, file: &str) -> Result<Vec<T>> {
        let paths = self.0.iter().map(|folder| folder.join(file)).filter(|path| path.exists());
        let read = |path: PathBuf| {
            let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
            serde_json::from_slice(&text).with_context(|| path.display().to_string())
        };
        paths.map(read).collect()
    }
}
