//! Conversion of the Cluster API and Metal3 kinds between their versions: what upstream implements as webhooks, called in this
//! process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use engine::contract::Contracts;
use parking_lot::RwLock;
use registry::{Converter, Definition, from_crd};
use schemas::contract::implemented;
use schemas::conversion::{Server, converts};
use serde_json::Value;

use crate::names::MANIFEST_HASH;

/// Converts the kinds of firstlight's own definitions. Definitions that somebody else installed under the same names come with their
/// own webhooks.
#[derive(Default)]
pub struct ClusterApiConversion {
    /// The versions that implement the contract of Cluster API, by group and kind, of the definitions of this process's API server.
    versions: RwLock<BTreeMap<(String, String), String>>,
    /// The definitions of another API server.
    other: Option<Contracts>,
}

impl fmt::Debug for ClusterApiConversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterApiConversion").finish_non_exhaustive()
    }
}

impl ClusterApiConversion {
    /// Converts for another API server, whose definitions are cached.
    pub fn of(other: Contracts) -> Self {
        Self { other: Some(other), ..Self::default() }
    }

    fn contract_version(&self, group: &str, kind: &str) -> Option<String> {
        if let Some(other) = &self.other {
            return other.known_version(group, kind);
        }
        self.versions.read().get(&(group.to_owned(), kind.to_owned())).cloned()
    }
}

/// Reads a built-in CustomResourceDefinition, whose objects `converter` converts if their versions differ.
///
/// # Errors
/// Never, for the built-in definitions.
pub fn definition(manifest: &Value, converter: &Arc<ClusterApiConversion>) -> Result<Definition> {
    let mut definition = from_crd(manifest).map_err(|why| anyhow!("a built-in definition: {why}"))?;
    if converts(&definition.group, &definition.kind) {
        definition.converter = Some(converter.clone());
    }
    Ok(definition)
}

impl Converter for ClusterApiConversion {
    fn defined(&self, definition: &Definition) {
        let key = (definition.group.clone(), definition.kind.clone());
        let version = implemented(|name| definition.labels.get(name).map(String::as_str));
        let mut versions = self.versions.write();
        match version {
            Some((_, version)) => versions.insert(key, version.to_owned()),
            None => versions.remove(&key),
        };
    }

    fn concerns(&self, definition: &Definition) -> bool {
        definition.annotations.contains_key(MANIFEST_HASH) && converts(&definition.group, &definition.kind)
    }

    fn convert(&self, definition: &Definition, object: Value, version: &str) -> Value {
        let server = Server {
            schema: &|version| definition.version(version).map(|version| &*version.schema),
            contract_version: &|group, kind| self.contract_version(group, kind),
        };
        schemas::conversion::convert(&definition.group, object, version, &server)
    }
}
