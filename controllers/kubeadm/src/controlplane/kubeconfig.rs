//! The administrator's kubeconfig of a workload cluster.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::names::SECRET_TYPE;
use engine::{Manager, NamespacedName, clusters, object, owners};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use machinery::cache::Cache;
use pki::{CertificateAuthority, Identity, KeyAlgorithm, Leaf};
use schemas::controlplane::KubeadmControlPlane;
use serde_json::json;

use super::observed::{Kubeconfig, Observed};
use crate::certificates::{self, Purpose, Recipe};
use crate::cluster_secrets::ClusterSecrets;
use crate::config::render;
use crate::error::{Error, Result};
use crate::owned;

/// User of the kubeconfig's certificate; [`GROUP`] is its group.
const USER: &str = "kubernetes-admin";
const GROUP: &str = "system:masters";
/// The most Secrets of which it is kept when they expire.
const MAX_KNOWN: usize = 20_000;

/// The Secrets with kubeconfigs.
pub(super) struct Kubeconfigs {
    manager: Manager,
    secrets: Arc<ClusterSecrets>,
    /// Version of each Secret (by UID), and when its certificate expires.
    known: Cache<String, (u64, DateTime<Utc>)>,
}

impl Kubeconfigs {
    /// Certificates are issued by the authorities in `secrets`.
    pub fn new(manager: &Manager, secrets: &Arc<ClusterSecrets>) -> Self {
        Self { manager: manager.clone(), secrets: secrets.clone(), known: Cache::new(MAX_KNOWN) }
    }

    /// Returns the state of the kubeconfig of a control plane's cluster.
    pub fn state(&self, control_plane: &KubeadmControlPlane, cluster: &NamespacedName) -> Kubeconfig {
        let Some(secret) = self.secrets.objects.get(&clusters::kubeconfig_secret(cluster)) else {
            return Kubeconfig::Missing;
        };
        let owner = owners::controller_reference(control_plane, &());
        if !owned::is_current(secret.as_ref(), &owner) {
            let is_free = owners::controller(secret.as_ref()).is_none_or(|present| present.uid == owner.uid);
            let ours = secret.type_.as_deref() == Some(SECRET_TYPE) && is_free;
            return if ours { Kubeconfig::Unowned } else { Kubeconfig::Given };
        }
        match self.expiry(&secret) {
            Some(expires) => Kubeconfig::Ours(expires),
            None => Kubeconfig::Broken,
        }
    }

    /// Returns when the certificate in a Secret expires; it is parsed once for each version of the Secret.
    fn expiry(&self, secret: &Secret) -> Option<DateTime<Utc>> {
        let (uid, version) = (object::uid(secret), object::version(secret));
        if let Some((_, expires)) = self.known.get(uid).filter(|(known, _)| *known == version) {
            return Some(expires);
        }
        let text = certificates::text(secret, "value")?;
        let config = pki::kubeconfig::Kubeconfig::parse(&text).ok()?;
        let facts = pki::inspect(&config.credentials.identity?.certificate).ok()?;
        // A certificate that is not valid yet, issued while the clock was ahead, counts as expired.
        let early = facts.not_before > self.manager.clock().now();
        let expires = if early { DateTime::UNIX_EPOCH } else { facts.not_after };
        self.known.keep(uid.to_owned(), (version, expires));
        Some(expires)
    }

    /// Creates the kubeconfig, or reissues its certificate: the server that it names stays.
    pub async fn make(&self, observed: &Observed) -> Result<()> {
        let secrets = &self.secrets.objects;
        let cluster = NamespacedName::of(observed.cluster.as_ref());
        let authority = self.secrets.identity(&cluster, Purpose::ClusterAuthority)?;
        let endpoint = render::endpoint(&observed.cluster)?;
        let name = clusters::kubeconfig_secret(&cluster);
        let existing = secrets.get(&name);
        let present = existing.as_ref().and_then(|secret| certificates::text(secret, "value"));
        let server = present.and_then(|text| pki::kubeconfig::Kubeconfig::parse(&text).ok());
        let server = server.map_or_else(|| format!("https://{endpoint}"), |config| config.server);
        let recipe = Recipe::of(&observed.cluster_configuration())?;
        let issued = issue(&cluster.name, &server, &authority, recipe.algorithm, &self.manager).await?;
        let data = [("value".to_owned(), ByteString(issued.into_bytes()))].into();
        match existing {
            Some(_) => drop(secrets.merge(&name, None, json!({"data": data})).await?),
            None => {
                let owner = owners::controller_reference(observed.control_plane.as_ref(), &());
                let secret =
                    certificates::owned_secret(&name.namespace, &name.name, &cluster.name, data, owner);
                secrets.create_if_absent(&secret).await?;
            }
        }
        Ok(())
    }

    /// Makes the control plane the controller of the kubeconfig.
    pub async fn own(&self, observed: &Observed) -> Result<()> {
        let name = clusters::kubeconfig_secret(&NamespacedName::of(observed.cluster.as_ref()));
        let Some(secret) = self.secrets.objects.get(&name) else { return Ok(()) };
        self.secrets.own(&secret, owners::controller_reference(observed.control_plane.as_ref(), &())).await
    }
}

/// Creates a kubeconfig with a new client certificate, as YAML. The result is a secret.
///
/// RSA keys are generated on a blocking thread, ECDSA keys at once.
async fn issue(
    cluster: &str,
    server: &str,
    authority: &Identity,
    algorithm: KeyAlgorithm,
    manager: &Manager,
) -> Result<String> {
    let (cluster, server, authority) = (cluster.to_owned(), server.to_owned(), authority.clone());
    let (now, random) = (manager.clock().now(), manager.random().clone());
    let work = move || {
        let named = || Error::certificate("the cluster's certificate authority");
        let issuer =
            CertificateAuthority::from_pem(&authority.certificate, &authority.key).map_err(named())?;
        let leaf = Leaf { algorithm, ..Leaf::client(USER, &[GROUP]) };
        let identity = issuer.issue(&leaf, now, &random).map_err(named())?;
        let config =
            pki::kubeconfig::Kubeconfig::for_cluster(&cluster, &server, &authority.certificate, identity);
        config.to_yaml().map_err(Error::certificate("the kubeconfig"))
    };
    match algorithm {
        KeyAlgorithm::EcdsaP256 | KeyAlgorithm::EcdsaP384 => work(),
        _ => {
            let made = tokio::task::spawn_blocking(work).await;
            made.unwrap_or_else(|error| {
                Err(Error::Bootstrap(format!("the kubeconfig was not made: {error}")))
            })
        }
    }
}
