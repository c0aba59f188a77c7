//! What an agent is packed with.

use serde::{Deserialize, Serialize};

/// What `/etc/firstlight/agent.json` in the initramfs says. Kernel arguments `firstlight.server=URL` (may be repeated) and
/// `firstlight.token=TOKEN` go before it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Configuration {
    /// Where the server is, tried in this order: `https://ADDRESS:PORT`.
    pub servers: Vec<String>,
    /// The certificate authority of the server, PEM.
    pub certificate_authority: String,
    /// Further authorities of servers that images are fetched from over HTTPS, PEM.
    pub image_authorities: String,
    /// Names of kernel modules that are loaded although no device asks for them.
    pub modules: Vec<String>,
}
