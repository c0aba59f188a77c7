//! Tests of `bootstrap::node_registry`.

use metal_provisioning::bootstrap::node_registry::NodeRegistry;
use serde_json::Value;

#[test]
fn containerd_asks_this_server_with_its_authority() {
    let files = NodeRegistry { port: 8443, authority: "PEM\n".into() }.files("10.0.0.1");
    let expected = serde_json::json!({
        "/etc/containerd/certs.d/firstlight-ca.crt": "PEM\n",
        "/etc/containerd/certs.d/_default/hosts.toml": "[host.\"https://10.0.0.1:8443\"]\n  capabilities = [\"pull\", \"resolve\"]\n  \
            ca = \"/etc/containerd/certs.d/firstlight-ca.crt\"\n",
    });
    assert_eq!(Value::Object(files), expected);
}
