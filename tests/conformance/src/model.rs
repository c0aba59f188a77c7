//! The format of a recording.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Related requests, in their own namespace.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique name, `topic/short-description`.
    pub name: String,
    /// The behaviour that the case checks.
    #[serde(default)]
    pub about: String,
    /// Names of the required fixtures.
    #[serde(default)]
    pub setup: Vec<String>,
    /// The requests, in order.
    pub steps: Vec<Step>,
}

/// A request and its recorded response.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// Description of the step.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The HTTP method.
    pub method: String,
    /// Path, possibly with a query; `{ns}` and saved values are replaced.
    pub path: String,
    /// Query parameters; a list repeats the parameter.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, Value>,
    /// Headers that replace the default ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// A JSON body.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
    /// A body that is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_text: Option<String>,
    /// The user to impersonate.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub impersonate: Option<Impersonate>,
    /// Values of the response for later steps: name and dotted path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub save: BTreeMap<String, String>,
    /// Set if the response is a stream of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
    /// A condition to wait for before the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// Exceptions from the comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
    /// The recorded, normalised response.
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
    /// User ID.
    pub uid: String,
}

/// How long to read a stream.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Watch {
    /// Number of events after which to stop; 0 for no limit.
    pub events: usize,
    /// Seconds after which to stop; 0 for two seconds.
    pub seconds: f64,
}

/// A condition and its time limit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wait {
    /// Path to GET; empty to only let the time pass.
    pub path: String,
    /// `code=404`, `a.b=v`, `a.b!=v`, `!a.b`, `a.b`, or several joined by `, `; empty for any successful
    /// response.
    pub until: String,
    /// Time limit in seconds; 0 for ten seconds.
    pub seconds: f64,
}

/// Exceptions from the comparison.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Compare {
    /// Dotted paths that are not compared.
    pub ignore: Vec<String>,
    /// `loose`: compare only code and reason.
    pub message: String,
}

/// A recorded or fresh response.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Response {
    /// HTTP status.
    pub code: u16,
    /// Value of the `Content-Type` header.
    pub content_type: String,
    /// Texts of the `Warning` headers.
    pub warnings: Vec<String>,
    /// A JSON or YAML body; null if there is none.
    pub body: Value,
    /// Events of a watch.
    pub events: Vec<Value>,
    /// A body that is neither JSON nor YAML.
    pub text: String,
    /// Problems around the request: an unmet condition, a missing value to save.
    pub trouble: Vec<String>,
}

/// CustomResourceDefinitions by the name of their fixture.
pub type Fixtures = BTreeMap<String, Vec<Value>>;

/// Folders with recordings. A topic may be spread over several folders.
#[derive(Debug, Clone)]
pub struct Golden(Vec<PathBuf>);

impl Golden {
    /// Returns the recordings of this crate: `golden/`, and later ones in `recorded/`.
    pub fn committed() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self(vec![root.join("golden"), root.join("recorded")])
    }

    /// Returns the recordings in `folder`.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self(vec![folder])
    }

    /// Returns the names of the topics, in order.
    ///
    /// # Errors
    /// Fails if a folder cannot be read.
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

    /// Returns the number of cases of each topic.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is not a recording.
    pub fn totals(&self) -> Result<BTreeMap<String, usize>> {
        let count = |topic: String| {
            let cases = self.cases(&topic)?.len();
            Ok((topic, cases))
        };
        self.topics()?.into_iter().map(count).collect()
    }

    /// Returns the cases of a topic, in the order of their replay.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is not a recording.
    pub fn cases(&self, topic: &str) -> Result<Vec<Case>> {
        let parts: Vec<Vec<Case>> = self.read(&format!("{topic}.json"))?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// Returns the definitions that cases share.
    ///
    /// # Errors
    /// Fails if a file cannot be read or has no definitions.
    pub fn fixtures(&self) -> Result<Fixtures> {
        let parts: Vec<Fixtures> = self.read("_fixtures.json")?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// Reads all files of that name in the folders.
    fn read<T: serde::de::DeserializeOwned>(&self, file: &str) -> Result<Vec<T>> {
        let paths = self.0.iter().map(|folder| folder.join(file)).filter(|path| path.exists());
        let read = |path: PathBuf| {
            let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
            serde_json::from_slice(&text).with_context(|| path.display().to_string())
        };
        paths.map(read).collect()
    }
}
