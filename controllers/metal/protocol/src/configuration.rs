//! The configuration file in the initramfs of an agent.

use serde::{Deserialize, Serialize};

/// The path of the configuration in the initramfs.
pub const CONFIGURATION: &str = "/etc/firstlight/agent.json";

/// The content of `/etc/firstlight/agent.json` in the initramfs. The kernel arguments `firstlight.server=URL` (may be repeated) take
/// precedence over `servers`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Configuration {
    /// The URLs of the server, tried in this order: `https://ADDRESS:PORT`.
    pub servers: Vec<String>,
    /// The certificate authority of the server, PEM.
    pub certificate_authority: String,
    /// Further certificate authorities for images that are fetched over HTTPS, PEM.
    pub image_authorities: String,
    /// Names of kernel modules that are loaded even if no device needs them.
    pub modules: Vec<String>,
}
