//! What the commands that change providers need.

use kube::Client;
use machinery::clock::Clock;

use crate::configuration::Configuration;
use crate::repository::Fetcher;

/// What is needed to install providers.
pub struct Tools<'a> {
    /// The management cluster.
    pub client: &'a Client,
    /// clusterctl's configuration.
    pub configuration: &'a Configuration,
    /// The client of provider repositories.
    pub fetcher: &'a Fetcher,
    /// The clock that times pauses and waits.
    pub clock: &'a Clock,
    /// Shows the user a line about what is done.
    pub say: &'a (dyn Fn(&str) + Sync),
}
