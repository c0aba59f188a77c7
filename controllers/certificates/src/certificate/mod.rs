//! The controller of Certificates: it keeps a valid certificate in the Secret of each.

mod found;
mod plan;
mod wanted;

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{
    Action, Controller, Descriptor, Error, GroupKind, Manager, NamespacedName, Objects, Reconciler, Request,
    Result,
};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, PostParams};
use kube::{Api, Client, ResourceExt};
use machinery::clock::Clock;
use machinery::random::Random;
use pki::{CertificateAuthority, Identity, PrivateKey};
use serde_json::{Value, json};

use crate::cluster::{Definitions, Secrets, is_ours, secret};
use crate::issuer::with_ready;
use crate::names::{CERTIFICATE_NAME, GROUP, resource};
use plan::{Plan, Signer};
use wanted::Wanted;

/// The namespace in which a ClusterIssuer looks for the Secret of its authority.
const CLUSTER_NAMESPACE: &str = "cert-manager";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "certificate",
    reconciles: &[GroupKind::new(GROUP, "Certificate")],
    start: |manager, ()| start(manager),
};

struct Certificates {
    certificates: Objects<DynamicObject>,
    issuers: Objects<DynamicObject>,
    cluster_issuers: Objects<DynamicObject>,
    client: Client,
    secrets: Secrets,
    definitions: Definitions,
    clock: Clock,
    random: Random,
}

fn start(manager: &Manager) {
    let this = Certificates {
        certificates: manager.dynamic(&resource("Certificate")),
        issuers: manager.dynamic(&resource("Issuer")),
        cluster_issuers: manager.dynamic(&resource("ClusterIssuer")),
        client: manager.client().clone(),
        secrets: manager.objects(),
        definitions: manager.objects(),
        clock: manager.clock().clone(),
        random: manager.random().clone(),
    };
    let (of_issuer, of_cluster_issuer, of_secret) =
        (this.certificates.clone(), this.certificates.clone(), this.certificates.clone());
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&this.certificates)
        .watches(&this.issuers, move |change| named(&of_issuer, "issuerRef/name", &change.name().name))
        .watches(&this.cluster_issuers, move |change| {
            named(&of_cluster_issuer, "issuerRef/name", &change.name().name)
        })
        .watches(&this.secrets, move |change| named(&of_secret, "secretName", &change.name().name))
        .reads(&this.definitions)
        .start(this);
}

/// Returns the Certificates that name something.
fn named(certificates: &Objects<DynamicObject>, field: &str, name: &str) -> Vec<Request> {
    let all = certificates.cache().all();
    let pointer = format!("/spec/{field}");
    let names = |one: &&Arc<DynamicObject>| one.data.pointer(&pointer).and_then(Value::as_str) == Some(name);
    all.iter().filter(names).map(|one| NamespacedName::of(one.as_ref())).collect()
}

impl Reconciler for Certificates {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(certificate) = self.certificates.get(&request) else { return Ok(Action::done()) };
        if certificate.metadata.deletion_timestamp.is_some() || !is_ours(&self.definitions) {
            return Ok(Action::done());
        }
        let wanted = match Wanted::of(&certificate) {
            Ok(wanted) => wanted,
            // A certificate that is there stays: the clients of a webhook go on, and the condition says what has not followed.
            Err(why) => {
                self.report(&certificate, json!({}), "False", ("Unsupported", &why)).await?;
                return Ok(Action::done());
            }
        };
        let signer = self.signer(&certificate).await?;
        let secret = secret(&self.client, &NamespacedName::new(&request.namespace, &wanted.secret)).await?;
        let now = self.clock.now();
        match plan::plan(&wanted, signer, secret.as_deref(), now) {
            Plan::Wait(reason, message) => {
                self.report(&certificate, json!({}), "False", (reason, &message)).await?;
                Ok(Action::done())
            }
            Plan::Keep { status, renew_in } => {
                self.report(
                    &certificate,
                    status,
                    "True",
                    ("Ready", "Certificate is up to date and has not expired"),
                )
                .await?;
                Ok(Action::requeue_after(renew_in))
            }
            Plan::Issue { signer, bundle, why } => {
                tracing::info!(certificate = %request, why, "a certificate is issued");
                let issued = engine::aside(|| plan::issue(&wanted, &signer, now, &self.random));
                let (identity, authority) = match issued {
                    Ok(issued) => issued,
                    Err(error) => {
                        let message = format!("no certificate can be issued: {error}");
                        self.report(&certificate, json!({}), "False", ("Failed", &message)).await?;
                        return Ok(Action::done());
                    }
                };
                let bundle = format!("{authority}{bundle}");
                self.store(&certificate, &wanted, secret, &identity, &bundle).await?;
                // The event of the Secret leads here again, and then the status is written.
                Ok(Action::done())
            }
        }
    }
}

impl Certificates {
    /// Returns who signs a certificate, or why nobody does.
    async fn signer(&self, certificate: &DynamicObject) -> Result<std::result::Result<Signer, String>> {
        let reference = &certificate.data["spec"]["issuerRef"];
        let name = reference["name"].as_str().unwrap_or_default();
        let namespace = certificate.namespace().unwrap_or_default();
        let (issuer, of_secret) = if reference["kind"] == "ClusterIssuer" {
            (self.cluster_issuers.get(&NamespacedName::new("", name)), CLUSTER_NAMESPACE.to_owned())
        } else {
            (self.issuers.get(&NamespacedName::new(&namespace, name)), namespace)
        };
        let Some(issuer) = issuer else { return Ok(Err(format!("the issuer {name:?} does not exist"))) };
        let spec = &issuer.data["spec"];
        if spec.get("selfSigned").is_some() {
            return Ok(Ok(Signer::Itself));
        }
        let Some(secret_name) = spec["ca"]["secretName"].as_str() else {
            return Ok(Err(format!("the issuer {name:?} is neither selfSigned nor ca")));
        };
        let found = secret(&self.client, &NamespacedName::new(of_secret, secret_name)).await?;
        let Some(found) = found else {
            return Ok(Err(format!("the Secret {secret_name:?} of the issuer {name:?} does not exist")));
        };
        let (certificate, key) = (plan::text(&found, "tls.crt"), plan::text(&found, "tls.key"));
        let authority = CertificateAuthority::from_pem(&certificate, &key);
        Ok(authority.map(|authority| Signer::Authority(Arc::new(authority))).map_err(|error| {
            format!("the Secret {secret_name:?} of the issuer {name:?} has no authority: {error}")
        }))
    }

    async fn store(
        &self,
        certificate: &Arc<DynamicObject>,
        wanted: &Wanted,
        old: Option<Arc<Secret>>,
        identity: &Identity,
        bundle: &str,
    ) -> Result<()> {
        let mut secret = old.as_deref().cloned().unwrap_or_default();
        let key = NamespacedName::new(certificate.namespace().unwrap_or_default(), &wanted.secret);
        secret.metadata.name = Some(key.name.clone());
        secret.metadata.namespace = Some(key.namespace.clone());
        secret.annotations_mut().extend(wanted.annotations.clone());
        secret.annotations_mut().insert(CERTIFICATE_NAME.to_owned(), certificate.name_any());
        secret.labels_mut().extend(wanted.labels.clone());
        secret.type_.get_or_insert_with(|| "kubernetes.io/tls".to_owned());
        let private = encoded(certificate, identity)?;
        let data: BTreeMap<String, ByteString> =
            [("tls.crt", identity.certificate.as_str()), ("tls.key", private.as_str()), ("ca.crt", bundle)]
                .map(|(name, text)| (name.to_owned(), ByteString(text.as_bytes().to_vec())))
                .into();
        secret.data.get_or_insert_default().extend(data);
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &key.namespace);
        let written = match old {
            Some(_) => secrets.replace(&key.name, &PostParams::default(), &secret).await,
            None => secrets.create(&PostParams::default(), &secret).await,
        };
        written.map(drop).map_err(|error| Error::api(format!("write Secret {key}"), error))
    }

    async fn report(
        &self,
        certificate: &DynamicObject,
        mut status: Value,
        ready: &str,
        words: (&str, &str),
    ) -> Result<()> {
        let conditions = with_ready(&certificate.data, ready, words, &self.clock);
        let is_same = status
            .as_object()
            .into_iter()
            .flatten()
            .all(|(key, value)| certificate.data["status"][key] == *value);
        if conditions.is_none() && is_same {
            return Ok(());
        }
        if let Some(conditions) = conditions {
            status["conditions"] = conditions;
        }
        let key = NamespacedName::of(certificate);
        self.certificates.merge(&key, Some("status"), json!({"status": status})).await.map(drop)
    }
}

/// Returns the private key in the form of `spec.privateKey.encoding`: by default that of its algorithm, as cert-manager writes it.
fn encoded(certificate: &DynamicObject, identity: &Identity) -> Result<String> {
    match certificate.data["spec"]["privateKey"]["encoding"].as_str() {
        Some("PKCS8") => {
            let key = PrivateKey::from_pem(&identity.key);
            let key = key.map_err(|error| Error::Terminal(format!("cannot encode the key: {error}")))?;
            Ok(key.to_pkcs8_pem())
        }
        _ => Ok(identity.key.clone()),
    }
}
