//! Upstream's webhook: baremetal-operator admits every write of a host at the target, those of the pivot as well.

use std::path::Path;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::json;

use crate::certificate;

/// Where controller-runtime looks for a webhook server's certificate, below the folder for temporary files.
const CERTIFICATES: &str = "k8s-webhook-server/serving-certs";

/// The webhook server of baremetal-operator.
pub struct Webhook {
    /// Its port on loopback.
    pub port: u16,
    certificate: String,
}

impl Webhook {
    /// Puts a certificate where the operator looks for it if `folder` is its folder for temporary files.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn prepare(folder: &Path) -> Result<Self> {
        let certificate = certificate::write(&folder.join(CERTIFICATES))?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        Ok(Self { port, certificate })
    }

    /// Lets an API server ask it about each host, as upstream's manifests do.
    ///
    /// # Errors
    /// The server refuses the configuration.
    pub async fn register(&self, client: Client) -> Result<()> {
        let kind =
            GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration");
        let configurations: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(&kind));
        let url = format!("https://127.0.0.1:{}/validate-metal3-io-v1alpha1-baremetalhost", self.port);
        let name = "baremetal-operator-validating-webhook-configuration";
        let configuration = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": name},
            "webhooks": [{
                "name": "baremetalhost.metal3.io", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "sideEffects": "None",
                "clientConfig": {"url": url, "caBundle": base64::engine::general_purpose::STANDARD.encode(&self.certificate)},
                "rules": [{
                    "apiGroups": ["metal3.io"], "apiVersions": ["v1alpha1"], "operations": ["CREATE", "UPDATE"],
                    "resources": ["baremetalhosts"],
                }],
            }],
        });
        let configuration = serde_json::from_value(configuration)?;
        configurations.create(&PostParams::default(), &configuration).await.map(drop).context("the webhook")
    }
}
