//! What the controllers need.

use std::sync::Arc;

use clusterctl::built_in::BuiltIn;
use clusterctl::configuration::Environment;
use clusterctl::network::Network;

/// What the controllers need besides the manager.
#[derive(Clone)]
pub struct Context {
    /// The path or address of clusterctl's configuration; `None` for the one in the usual folders.
    pub configuration: Option<String>,
    /// The environment variables, which are variables of components, too.
    pub environment: Environment,
    /// The network over which repositories of providers are read.
    pub network: Arc<dyn Network>,
    /// The providers whose controllers run in this process: nothing is installed for them, unless an object says where another one of the
    /// same name comes from, for which these controllers stand aside.
    pub in_process: Vec<BuiltIn>,
}
