//! How nodes reach the registry of the bundles: what containerd must have before the node pulls its first image. Pure.

use serde_json::{Map, Value};

/// The folder of containerd with the settings of registries: `config_path` of its CRI plugin. It is the default since containerd 2.2, and that
/// of the images of Kubernetes' image-builder.
const FOLDER: &str = "/etc/containerd/certs.d";

/// The registry of this server, and the certificate by which nodes recognise it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRegistry {
    /// The port of HTTPS.
    pub port: u16,
    /// The certificate of the authority that signs the registry's certificate, PEM.
    pub authority: String,
}

impl NodeRegistry {
    /// Returns the files, by path, with which containerd asks this server first for the images of every registry. `host` is the host of this
    /// server as the node reaches it.
    pub fn files(&self, host: &str) -> Map<String, Value> {
        let authority = format!("{FOLDER}/firstlight-ca.crt");
        let hosts = format!(
            "[host.\"https://{host}:{}\"]\n  capabilities = [\"pull\", \"resolve\"]\n  ca = \"{authority}\"\n",
            self.port
        );
        // `_default` is for each registry without a folder of its own. containerd sends the name of the registry as `ns`.
        let files = [(authority, self.authority.clone()), (format!("{FOLDER}/_default/hosts.toml"), hosts)];
        files.into_iter().map(|(path, content)| (path, content.into())).collect()
    }
}
