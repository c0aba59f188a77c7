//! What a template of cloud-init may name.

use std::collections::BTreeMap;

/// The metadata of a machine: names as below `ds.meta_data`, with underscores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata(BTreeMap<String, String>);

/// The names that cloud-init offers in every cloud, as `v1.NAME` and as `NAME` alone.
const STANDARD: &[&str] = &["local_hostname", "instance_id"];

impl Metadata {
    /// Returns the metadata of a node: `local_hostname`, `hostname` and `name` are its host name, `instance_id` is
    /// `instance`.
    pub fn new(hostname: &str, instance: &str) -> Self {
        let names = ["local_hostname", "hostname", "name"].map(|name| (name, hostname));
        let all = names.into_iter().chain([("instance_id", instance)]);
        Self(all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Adds a name, for example `failure_domain`. Hyphens in it are underscores, as in cloud-init's templates.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.0.insert(name.replace('-', "_"), value.to_owned());
        self
    }

    /// Returns the host name.
    pub fn hostname(&self) -> Option<&str> {
        self.0.get("local_hostname").map(String::as_str)
    }

    /// Returns the value of a variable: `ds.meta_data.NAME`, `v1.NAME` or `NAME`.
    pub(crate) fn variable(&self, path: &[String]) -> Option<&str> {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let name = match path.as_slice() {
            ["ds", "meta_data", name] => name,
            ["v1", name] | [name] if STANDARD.contains(name) => name,
            _ => return None,
        };
        self.0.get(*name).map(String::as_str)
    }
}
