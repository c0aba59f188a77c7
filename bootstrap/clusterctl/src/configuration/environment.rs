//! Access to environment variables.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

type Read = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Environment variables of the process, or fixed ones.
#[derive(Clone)]
pub struct Environment(Arc<Read>);

impl Environment {
    /// The variables of this process.
    pub fn process() -> Self {
        Self(Arc::new(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())))
    }

    /// Only these variables.
    pub fn fixed(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let variables: BTreeMap<String, String> = variables.into_iter().collect();
        Self(Arc::new(move |name| variables.get(name).cloned()))
    }

    /// The value of a variable that is set; it may be empty.
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }

    /// Folders of configuration in order of precedence: `$XDG_CONFIG_HOME/cluster-api`, `~/.cluster-api`.
    pub fn folders(&self) -> Vec<PathBuf> {
        let set = |name: &str| self.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set("HOME");
        let base = set("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
        let own = base.map(|base| base.join("cluster-api"));
        own.into_iter().chain(home.map(|home| home.join(".cluster-api"))).collect()
    }
}
