//! The certificates of the webhooks: an authority and a certificate of a server, in a Secret that all processes share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use chrono::{DateTime, Utc};
use engine::Manager;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::RwLock;
use pki::tls::certified_key;
use pki::{CertificateAuthority, Identity, KeyAlgorithm, Leaf, inspect, renewal_due};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::watch;

use super::names::{SECRET, SERVICE};
use crate::create_or_replace::create_or_replace;

/// The interval at which the Secret is read. Another process renews the certificates months before they end.
const CHECK: Duration = Duration::from_secs(60);
/// How often a write is tried that another process was faster with.
const TRIES: usize = 5;
/// The keys of the Secret, as in Secrets of type `kubernetes.io/tls`.
const KEYS: [&str; 4] = ["ca.crt", "ca.key", "tls.crt", "tls.key"];

/// An authority and the certificate that it issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The authority that issues the serving certificate.
    pub authority: Identity,
    /// The serving certificate.
    pub server: Identity,
}

/// The certificates as they are in the cluster.
pub struct Certificates {
    secrets: Api<Secret>,
    namespace: String,
    clock: Clock,
    random: Random,
}

impl Certificates {
    /// The certificates in a namespace.
    pub fn new(manager: &Manager, namespace: &str) -> Self {
        Self {
            secrets: Api::namespaced(manager.client().clone(), namespace),
            namespace: namespace.to_owned(),
            clock: manager.clock().clone(),
            random: manager.random().clone(),
        }
    }

    /// Returns the certificates, made or renewed if they are due. Of several processes, one makes them.
    ///
    /// # Errors
    /// The Secret cannot be read or written.
    pub async fn ensure(&self) -> Result<Pair> {
        let failed = || format!("the certificates of the webhooks: Secret {}/{SECRET}", self.namespace);
        for _ in 0..TRIES {
            let found = self.secrets.get_opt(SECRET).await.with_context(failed)?;
            let stored = found.as_ref().and_then(read);
            let Some(made) = due(stored.as_ref(), &self.names(), self.clock.now(), &self.random)? else {
                return stored.with_context(failed);
            };
            match self.write(found, &made).await {
                Ok(()) => {
                    tracing::info!(secret = SECRET, "new certificates for the webhooks");
                    return Ok(made);
                }
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => return Err(error).with_context(failed),
            }
        }
        bail!("{}: other processes change it all the time", failed())
    }

    async fn write(&self, found: Option<Secret>, pair: &Pair) -> kube::Result<()> {
        let texts =
            [&pair.authority.certificate, &pair.authority.key, &pair.server.certificate, &pair.server.key];
        let data = KEYS.into_iter().zip(texts);
        let data: BTreeMap<String, ByteString> =
            data.map(|(key, text)| (key.to_owned(), ByteString(text.clone().into_bytes()))).collect();
        let mut secret = found.unwrap_or_default();
        secret.data.get_or_insert_default().extend(data);
        secret.type_.get_or_insert_with(|| "kubernetes.io/tls".to_owned());
        create_or_replace(&self.secrets, SECRET, secret).await
    }

    /// Keeps `current` and `authority` as they are in the Secret, and renews the certificates, for ever.
    pub async fn keep(self, mut last: Pair, current: Arc<Current>, authority: watch::Sender<String>) {
        loop {
            self.clock.sleep(CHECK).await;
            let outcome = self.ensure().await.and_then(|pair| {
                if pair != last {
                    current.replace(&pair)?;
                    authority.send_replace(pair.authority.certificate.clone());
                    last = pair;
                }
                Ok(())
            });
            if let Err(error) = outcome {
                tracing::warn!("cannot check the certificates of the webhooks: {error:#}");
            }
        }
    }

    /// The names by which API servers call the Service.
    fn names(&self) -> Vec<String> {
        let service = format!("{SERVICE}.{}", self.namespace);
        vec![format!("{service}.svc"), format!("{service}.svc.cluster.local"), service]
    }
}

/// The certificate with which connections are answered.
#[derive(Debug)]
pub struct Current(RwLock<Arc<CertifiedKey>>);

impl Current {
    /// Begins with a certificate.
    ///
    /// # Errors
    /// Certificate and key do not match.
    pub fn new(pair: &Pair) -> Result<Self> {
        Ok(Self(RwLock::new(certified_key(&pair.server)?)))
    }

    fn replace(&self, pair: &Pair) -> Result<()> {
        *self.0.write() = certified_key(&pair.server)?;
        Ok(())
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().clone())
    }
}

/// Reads a Secret; `None` if a key is missing.
fn read(secret: &Secret) -> Option<Pair> {
    let text = |key: &str| {
        let data = secret.data.as_ref()?.get(key)?;
        String::from_utf8(data.0.clone()).ok()
    };
    let [authority, authority_key, server, server_key] = KEYS.map(text);
    Some(Pair {
        authority: Identity { certificate: authority?, key: authority_key? },
        server: Identity { certificate: server?, key: server_key? },
    })
}

/// Returns new certificates if those in the Secret are absent, damaged or due. An authority is renewed with its key, so that API servers
/// which still have the old one accept what the new one issues.
pub fn due(
    stored: Option<&Pair>,
    names: &[String],
    now: DateTime<Utc>,
    random: &Random,
) -> Result<Option<Pair>> {
    let is_due =
        |identity: &Identity| inspect(&identity.certificate).map_or(true, |facts| renewal_due(&facts, now));
    let kept = stored.and_then(|pair| {
        let Identity { certificate, key } = &pair.authority;
        Some((CertificateAuthority::from_pem(certificate, key).ok()?, pair))
    });
    let Some((authority, pair)) = kept else {
        let name = format!("{SERVICE}-ca");
        let authority = CertificateAuthority::generate(&name, KeyAlgorithm::default(), None, now, random)?;
        return issued(&authority, names, now, random).map(Some);
    };
    if is_due(&pair.authority) {
        return issued(&authority.renewed(now)?, names, now, random).map(Some);
    }
    let is_named = inspect(&pair.server.certificate)
        .is_ok_and(|facts| names.iter().all(|name| facts.names.contains(name)));
    if is_due(&pair.server) || !is_named || certified_key(&pair.server).is_err() {
        return issued(&authority, names, now, random).map(Some);
    }
    Ok(None)
}

fn issued(
    authority: &CertificateAuthority,
    names: &[String],
    now: DateTime<Utc>,
    random: &Random,
) -> Result<Pair> {
    let server = authority.issue(&Leaf::server(SERVICE, names.to_vec()), now, random)?;
    Ok(Pair { authority: authority.identity(), server })
}
