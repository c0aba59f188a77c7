//! Reads the schema sources.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

/// A named type and its location.
pub struct Type {
    /// Its name, which is unique in all modules.
    pub name: String,
    /// The module, for example `cluster`.
    pub module: String,
    /// The file without extension, for example `machine`.
    pub file: String,
    /// The structural schema, with references.
    pub schema: Value,
}

/// The content of all sources.
pub struct Source {
    /// All types by name.
    pub types: BTreeMap<String, Type>,
    /// The structural schemas of types that only older versions have, by name.
    older_types: BTreeMap<String, Value>,
    /// All kinds, by the name of their CustomResourceDefinition.
    pub kinds: BTreeMap<String, Value>,
    /// The older versions of kinds, by the name of the CustomResourceDefinition and of the version.
    pub older: BTreeMap<(String, String), Value>,
}

impl Source {
    /// Reads `types/`, `crds/` and `older/` of `folder`.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let mut types = BTreeMap::new();
        for path in yaml_files(&folder.join("types"))? {
            let module = stem(path.parent().unwrap_or(folder))?;
            let file = stem(&path)?;
            let Value::Object(definitions) = parse(&path)? else {
                bail!("{}: a map of types is expected", path.display());
            };
            for (name, schema) in definitions {
                let found = Type { name: name.clone(), module: module.clone(), file: file.clone(), schema };
                if types.insert(name.clone(), found).is_some() {
                    bail!("{}: the type {name} exists twice", path.display());
                }
            }
        }
        let mut kinds = BTreeMap::new();
        for path in yaml_files(&folder.join("crds"))? {
            kinds.insert(stem(&path)?, parse(&path)?);
        }
        let mut older = BTreeMap::new();
        let mut older_types = BTreeMap::new();
        for path in yaml_files(&folder.join("older"))? {
            let version = stem(path.parent().unwrap_or(folder))?;
            if version != "types" {
                older.insert((stem(&path)?, version), parse(&path)?);
                continue;
            }
            let Value::Object(definitions) = parse(&path)? else {
                bail!("{}: a map of types is expected", path.display());
            };
            for (name, schema) in definitions {
                if types.contains_key(&name) || older_types.insert(name.clone(), schema).is_some() {
                    bail!("{}: the type {name} exists twice", path.display());
                }
            }
        }
        Ok(Self { types, older_types, kinds, older })
    }

    /// The type with this name.
    pub fn named(&self, name: &str) -> anyhow::Result<&Type> {
        self.types.get(name).with_context(|| format!("no type is named {name}"))
    }

    /// The structural schema of the type with this name, also if only older versions have it.
    pub fn schema(&self, name: &str) -> anyhow::Result<&Value> {
        self.older_types.get(name).map_or_else(|| Ok(&self.named(name)?.schema), Ok)
    }
}

fn parse(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    serde_saphyr::from_str(&text).with_context(|| format!("parsing {}", path.display()))
}

/// Every `.yaml` file in `folder` and its subfolders, sorted.
fn yaml_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(yaml_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn stem(path: &Path) -> anyhow::Result<String> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    Ok(stem.with_context(|| format!("{} has no name", path.display()))?.to_owned())
}
