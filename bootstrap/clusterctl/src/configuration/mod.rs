//! clusterctl's configuration file: the variables of templates and the other settings.

mod environment;
mod images;
mod providers;
pub mod repositories;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bundle::Catalogue;
use serde_json::Value;

pub use environment::Environment;
pub use images::Images;
pub use providers::{ByType, Provider, ProviderType, parse_name};

use crate::network::{Network, Request};
use crate::{Context, Error, Result, substitution};

/// The settings of a file and the environment.
#[derive(Clone)]
pub struct Configuration {
    /// The file's values, with keys in lower case.
    file: Value,
    /// Variables set by options of a command; they take precedence over environment and file.
    set: BTreeMap<String, String>,
    environment: Environment,
    /// The content of bundles, in which providers are looked for before their own repositories.
    bundles: Option<Arc<Catalogue>>,
}

impl Configuration {
    /// Reads the file at a path or an `https://` or `http://` address. Without `path`, reads the first one found in the usual folders;
    /// it is not an error if there is none.
    ///
    /// # Errors
    /// The file does not exist at the given place, or cannot be read.
    pub async fn load(path: Option<&str>, environment: Environment, network: &dyn Network) -> Result<Self> {
        let file = Self::file(path, &environment, network).await;
        let file = file.context(|| "failed to initialize the configuration reader".to_owned())?;
        Ok(Self { file: lower_case(file), set: BTreeMap::new(), environment, bundles: None })
    }

    async fn file(path: Option<&str>, environment: &Environment, network: &dyn Network) -> Result<Value> {
        Ok(match path.filter(|path| !path.is_empty()) {
            Some(address) if address.starts_with("https://") || address.starts_with("http://") => {
                let failed = || format!("failed to download the clusterctl config file from {address}");
                let answer = network.get(Request::new(address)).await.context(failed)?;
                if answer.status != 200 {
                    return Err(Error::invalid(format!("{} got {}", failed(), answer.status)));
                }
                parse(&answer.body, "yaml")?
            }
            Some(path) => read(Path::new(path)).map_err(|error| match error {
                Error::Disk(reason) if reason.kind() == std::io::ErrorKind::NotFound => {
                    Error::invalid(format!(
                        "failed to check if clusterctl config file exists: stat {path}: no such file or directory"
                    ))
                }
                other => other,
            })?,
            None => match default_file(environment) {
                Some(path) => read(&path)?,
                None => Value::Null,
            },
        })
    }

    /// The environment variables.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Takes providers from bundles that have them.
    pub fn set_bundles(&mut self, bundles: Arc<Catalogue>) {
        self.bundles = Some(bundles);
    }

    pub(crate) fn bundles(&self) -> Option<&Arc<Catalogue>> {
        self.bundles.as_ref()
    }

    /// Sets a variable; this takes precedence over everything else.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.set.insert(name.to_lowercase(), value.into());
    }

    /// The value of a variable: from an option, else from the environment (upper case, `_` for `-`), else from the file.
    pub fn variable(&self, name: &str) -> Option<String> {
        match self.set.get(&name.to_lowercase()) {
            Some(value) => Some(value.clone()),
            None => self.own(name),
        }
    }

    /// The same without options of a command, and without what objects of a cluster set: a path on this machine is for its owner.
    fn own(&self, name: &str) -> Option<String> {
        if let Some(value) = self.environment.get(&name.to_uppercase().replace('-', "_")) {
            return Some(value);
        }
        match self.file.get(name.to_lowercase())? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            Value::Array(_) | Value::Object(_) => Some(String::new()),
            other => Some(other.to_string()),
        }
    }

    /// A section of the file; `null` if it is missing.
    pub(crate) fn section(&self, key: &str) -> &Value {
        self.file.get(key.to_lowercase()).unwrap_or(&Value::Null)
    }

    /// Replaces the environment's variables in a text of the file.
    pub(crate) fn with_environment(&self, text: &str) -> Result<String> {
        let text = substitution::expand(text, &|name| self.environment.get(name))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The image changes.
    pub fn images(&self) -> Images {
        Images::new(self.section("images"))
    }

    /// The folder in which a provider's files are looked for before its repository.
    ///
    /// # Errors
    /// `overridesFolder` contains an invalid substitution.
    pub fn overrides_folder(&self) -> Result<Option<PathBuf>> {
        if let Some(folder) = self.own("overridesFolder").filter(|folder| !folder.trim().is_empty()) {
            let failed =
                || format!("unable to evaluate overridesFolder: {}", crate::yaml::quoted(folder.as_bytes()));
            return Ok(Some(self.with_environment(&folder).context(failed)?.into()));
        }
        let folders = self.environment.folders().into_iter().map(|folder| folder.join("overrides"));
        Ok(folders.into_iter().find(|folder| folder.exists()))
    }
}

fn default_file(environment: &Environment) -> Option<PathBuf> {
    let names = ["clusterctl.json", "clusterctl.toml", "clusterctl.yaml", "clusterctl.yml"];
    let folders = environment.folders().into_iter();
    folders.flat_map(|folder| names.map(|name| folder.join(name))).find(|path| path.is_file())
}

fn read(path: &Path) -> Result<Value> {
    let text = std::fs::read(path)?;
    parse(&text, path.extension().and_then(|extension| extension.to_str()).unwrap_or_default())
}

/// Reads a configuration file of this format, which is the end of its name.
///
/// # Errors
/// The text has no such format.
pub fn parse(text: &[u8], format: &str) -> Result<Value> {
    match format {
        "toml" => {
            let failed = |reason: String| Error::invalid(format!("While parsing config: {reason}"));
            let text = std::str::from_utf8(text).map_err(|error| failed(error.to_string()))?;
            toml::from_str(text).map_err(|error| failed(error.to_string()))
        }
        "yaml" | "yml" | "json" => match machinery::decode::yaml(text) {
            Ok(decoded) => Ok(decoded.value),
            Err(reason) => Err(Error::invalid(format!("While parsing config: {reason}"))),
        },
        other => Err(Error::invalid(format!(
            "Unsupported Config Type {other:?}: a configuration file ends in .yaml, .yml, .json or .toml"
        ))),
    }
}

/// Changes all keys to lower case, because keys are not case-sensitive.
fn lower_case(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (key.to_lowercase(), lower_case(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(lower_case).collect(),
        other => other,
    }
}
