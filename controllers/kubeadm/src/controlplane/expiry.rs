//! Reads from the API servers of control plane nodes when their certificates expire.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::{Manager, NamespacedName, Objects, Workload, object, unless_gone};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use machinery::cache::Expiring;
use machinery::clock::rfc3339;
use rustls::pki_types::ServerName;
use schemas::bootstrap::KubeadmConfig;
use serde_json::json;
use tokio_rustls::TlsConnector;

use super::observed::{ControlPlaneMachine, Observed};
use crate::certificates::Purpose;
use crate::cluster_secrets::ClusterSecrets;
use crate::error::{Error, Result};
use crate::names;

const TIMEOUT: Duration = Duration::from_secs(15);
const PORT: u16 = 6443;
/// Every certificate of an API server has this name. The name of a Pod may be longer than a DNS label.
const SERVER_NAME: &str = "kubernetes";
/// Delay before a node that did not answer is asked again.
const RETRY: Duration = Duration::from_secs(5 * 60);
/// The most Machines of which it is kept that they were asked; beyond that a node is asked earlier.
const MAX_ASKED: usize = 20_000;

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Workload(format!("read the certificate of an API server: {error}"))
}

/// Reads when the certificates of API servers expire.
pub(super) struct CertificateExpiry {
    manager: Manager,
    configs: Objects<KubeadmConfig>,
    secrets: Arc<ClusterSecrets>,
    /// The Machines (by UID) whose API server was asked for its certificate less than [`RETRY`] ago.
    asked: Expiring<String, ()>,
}

impl CertificateExpiry {
    /// Trusts the authorities in `secrets`.
    pub fn new(manager: &Manager, secrets: &Arc<ClusterSecrets>) -> Self {
        Self {
            manager: manager.clone(),
            configs: manager.objects(),
            secrets: secrets.clone(),
            asked: Expiring::new(MAX_ASKED, RETRY),
        }
    }

    /// Writes the certificates' expiry of these Machines to an annotation of their KubeadmConfigs. A node that does not answer is asked again
    /// later, since nothing else depends on the expiry.
    ///
    /// # Errors
    /// An annotation cannot be written.
    pub async fn read(&self, observed: &Observed, machines: &[String]) -> Result<()> {
        let now = self.manager.clock().monotonic();
        for member in
            observed.machines.iter().filter(|member| machines.iter().any(|name| name == member.name()))
        {
            let (Some(node), Some(config)) = (member.node(), &member.config) else { continue };
            let uid = object::uid(member.machine.as_ref());
            if self.asked.get(uid, now).is_some() {
                continue;
            }
            let asked = tokio::time::timeout(TIMEOUT, self.expiry(observed, member, node)).await;
            match asked.unwrap_or_else(|_| Err(failed(format!("no answer within {TIMEOUT:?}")))) {
                Ok(expires) => self.note_expiry(config, expires).await?,
                Err(error) => {
                    tracing::debug!(machine = member.name(), %error, "the certificates' expiry is not known");
                }
            }
            self.asked.keep(uid.to_owned(), (), now);
        }
        Ok(())
    }

    async fn expiry(
        &self,
        observed: &Observed,
        member: &ControlPlaneMachine,
        node: &str,
    ) -> Result<DateTime<Utc>> {
        let connected = self.manager.clusters().get(&NamespacedName::of(observed.cluster.as_ref()))?;
        let authority = self.secrets.identity(connected.cluster(), Purpose::ClusterAuthority)?;
        let alpn = pki::tls::ALPN_HTTP;
        let tls =
            pki::tls::client_config_for_any_name(&authority.certificate, None, alpn, self.manager.clock());
        let tls = Arc::new(tls.map_err(Error::certificate("the cluster's certificate authority"))?);
        let port = bind_port(member).and_then(|port| u16::try_from(port).ok()).unwrap_or(PORT);
        read(&connected, &api_server_pod(node), port, tls).await
    }

    async fn note_expiry(&self, config: &KubeadmConfig, expires: DateTime<Utc>) -> Result<()> {
        let patch = json!({"metadata": {"annotations": {names::CERTIFICATES_EXPIRY: rfc3339(expires)}}});
        unless_gone(self.configs.merge(&NamespacedName::of(config), None, patch).await)?;
        Ok(())
    }
}

/// Returns the name of the Pod of a node's API server.
pub(super) fn api_server_pod(node: &str) -> String {
    format!("kube-apiserver-{node}")
}

/// Returns the port of a node's API server if its KubeadmConfig sets one.
fn bind_port(member: &ControlPlaneMachine) -> Option<i32> {
    let spec = &member.config.as_ref()?.spec;
    let join = spec.join_configuration.as_ref().and_then(|join| join.control_plane.as_ref());
    let join = join.and_then(|control_plane| control_plane.local_api_endpoint.as_ref());
    let init = spec.init_configuration.as_ref().and_then(|init| init.local_api_endpoint.as_ref());
    join.or(init)?.bind_port.filter(|port| *port > 0)
}

async fn read(
    workload: &Workload,
    pod: &str,
    port: u16,
    tls: Arc<rustls::ClientConfig>,
) -> Result<DateTime<Utc>> {
    let pods = Api::<Pod>::namespaced(workload.dedicated_client().clone(), "kube-system");
    let mut forward = pods.portforward(pod, &[port]).await.map_err(failed)?;
    let stream = forward.take_stream(port).ok_or_else(|| failed("the port-forward has no stream"))?;
    let name = ServerName::try_from(SERVER_NAME).map_err(failed)?;
    let stream = TlsConnector::from(tls).connect(name, stream).await.map_err(failed)?;
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let first = chain.first().ok_or_else(|| failed("it shows no certificate"))?;
    let facts = pki::inspect_der(first).map_err(failed);
    forward.abort();
    Ok(facts?.not_after)
}
