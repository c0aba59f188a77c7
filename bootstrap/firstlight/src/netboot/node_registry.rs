//! How nodes reach the registry of the bundles: what cloud-init writes for containerd before the node pulls its first image.

use std::net::Ipv4Addr;

/// The folder of containerd with the settings of registries: `config_path` of its CRI plugin. It is the default since containerd 2.2, and that
/// of the images of Kubernetes' image-builder.
const FOLDER: &str = "/etc/containerd/certs.d";

/// The addresses of the registry, and the certificate by which nodes recognise it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRegistry {
    /// The URLs at which nodes reach the registry, for example `https://10.0.0.1:8443`.
    pub servers: Vec<String>,
    /// The certificate of the authority that signs the registry's certificate, PEM.
    pub authority: String,
}

/// A file for a node, as an entry of cloud-init's `write_files` or of a KubeadmConfig's `files`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFile {
    /// The absolute path.
    pub path: String,
    /// The content.
    pub content: String,
}

impl NodeRegistry {
    /// Returns the registry at the given addresses and port.
    pub(super) fn new(addresses: &[Ipv4Addr], port: u16, authority: &str) -> Self {
        let servers = addresses.iter().map(|address| format!("https://{address}:{port}")).collect();
        Self { servers, authority: authority.to_owned() }
    }

    /// Returns the files by which containerd asks this registry first for the images of every registry.
    pub fn files(&self) -> Vec<NodeFile> {
        let authority = format!("{FOLDER}/firstlight-ca.crt");
        // `_default` is for each registry without a folder of its own. containerd sends the name of the registry as `ns`.
        let hosts =
            NodeFile { path: format!("{FOLDER}/_default/hosts.toml"), content: self.hosts(&authority) };
        vec![NodeFile { path: authority, content: self.authority.clone() }, hosts]
    }

    /// Returns the content of `hosts.toml`. `authority` is the path of the certificate on the node.
    fn hosts(&self, authority: &str) -> String {
        let host = |server: &String| {
            format!("[host.\"{server}\"]\n  capabilities = [\"pull\", \"resolve\"]\n  ca = \"{authority}\"\n")
        };
        self.servers.iter().map(host).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containerd_asks_every_address_with_the_authority() {
        let addresses = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 1, 0, 1)];
        let registry = NodeRegistry::new(&addresses, 8443, "PEM\n");
        let expected = "[host.\"https://10.0.0.1:8443\"]\n  capabilities = [\"pull\", \"resolve\"]\n  \
            ca = \"/etc/containerd/certs.d/firstlight-ca.crt\"\n\n\
            [host.\"https://10.1.0.1:8443\"]\n  capabilities = [\"pull\", \"resolve\"]\n  \
            ca = \"/etc/containerd/certs.d/firstlight-ca.crt\"\n";
        let file = |path: &str, content: &str| NodeFile { path: path.into(), content: content.into() };
        assert_eq!(
            registry.files(),
            [
                file("/etc/containerd/certs.d/firstlight-ca.crt", "PEM\n"),
                file("/etc/containerd/certs.d/_default/hosts.toml", expected),
            ]
        );
    }
}
