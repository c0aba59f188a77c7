//! The controller of Certificates: it keeps a valid certificate in the Secret of each.

mod found;
mod plan;
mod rivals;
mod wanted;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

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
use pki::{Identity, PrivateKey};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::cluster::{Definitions, Secrets, is_ours, secret};
use crate::issuer::with_ready;
use crate::names::{CERTIFICATE_NAME, GROUP, resource};
use plan::{Plan, Signer};
use wanted::Wanted;

/// The namespace in which a ClusterIssuer looks for the Secret of its authority.
const CLUSTER_NAMESPACE: &str = "cert-manager";

/// How soon a Certificate with an RSA key is looked at again while the key of another one is made.
const RSA_TURN: Duration = Duration::from_secs(1);

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
    /// One RSA key is made at a time, which takes seconds: no number of them delays other certificates, or the end of the process.
    rsa: Semaphore,
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
        rsa: Semaphore::new(1),
    };
    let [of_issuer, of_cluster_issuer, of_secret, of_rival] = [(); 4].map(|()| this.certificates.clone());
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&this.certificates)
        .watches(&this.certificates, move |change| rivals::of_change(&of_rival, change))
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
            Err(why) => return self.refuse(&certificate, ("Unsupported", &why)).await,
        };
        let secret = secret(&self.client, &NamespacedName::new(&request.namespace, &wanted.secret)).await?;
        let all = self.certificates.cache().in_namespace(&request.namespace);
        if let Some(owner) = rivals::owner(&certificate, &all, secret.as_deref()) {
            let why = format!(
                "spec.secretName: the Secret {:?} is that of the Certificate {owner:?}",
                wanted.secret
            );
            return self.refuse(&certificate, ("IncorrectCertificate", &why)).await;
        }
        let signer = self.signer(&certificate, &wanted.secret).await?;
        let now = self.clock.now();
        match plan::plan(&wanted, signer, secret.as_deref(), now) {
            Plan::Wait(reason, message) => self.refuse(&certificate, (reason, &message)).await,
            Plan::Keep { status, renew_in } => {
                let words = ("Ready", "Certificate is up to date and has not expired");
                self.report(&certificate, status, "True", words).await?;
                Ok(Action::requeue_after(renew_in))
            }
            Plan::Issue { signer, bundle, why } => {
                let turn = wanted.algorithm.is_rsa().then(|| self.rsa.try_acquire());
                if matches!(turn, Some(Err(_))) {
                    return Ok(Action::requeue_after(RSA_TURN));
                }
                tracing::info!(certificate = %request, why, "a certificate is issued");
                let made =
                    engine::aside(|| self.make(&certificate, &wanted, &signer, &bundle, secret.as_deref()));
                let made = match made {
                    Ok(made) => made,
                    Err(why) => return self.refuse(&certificate, ("Failed", &why)).await,
                };
                let written = self.store(&made, secret.is_some()).await;
                if let Err(error) = &written
                    && error.status().is_some_and(|status| matches!(status.code, 400 | 403 | 422))
                {
                    let why = format!("the Secret is refused: {error}");
                    self.refuse(&certificate, ("Failed", &why)).await?;
                }
                // The event of the Secret leads here again, and then the status is written.
                written.map(|()| Action::done())
            }
        }
    }
}

impl Certificates {
    /// Returns who signs a certificate for the Secret `own`, or why nobody does.
    async fn signer(
        &self,
        certificate: &DynamicObject,
        own: &str,
    ) -> Result<std::result::Result<Signer, String>> {
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
        if secret_name == own && certificate.namespace().as_deref() == Some(of_secret.as_str()) {
            return Ok(Err(format!(
                "the issuer {name:?} signs with the Secret {own:?} of this certificate itself"
            )));
        }
        let found = secret(&self.client, &NamespacedName::new(of_secret, secret_name)).await?;
        let Some(found) = found else {
            return Ok(Err(format!("the Secret {secret_name:?} of the issuer {name:?} does not exist")));
        };
        let has_none = |why: String| {
            format!("the Secret {secret_name:?} of the issuer {name:?} has no authority: {why}")
        };
        Ok(plan::authority(&found).map(|authority| Signer::Authority(Arc::new(authority))).map_err(has_none))
    }

    /// Issues a certificate and returns the Secret with it, which replaces `old`.
    ///
    /// # Errors
    /// Why no certificate can be issued as it is wanted.
    fn make(
        &self,
        certificate: &DynamicObject,
        wanted: &Wanted,
        signer: &Signer,
        bundle: &str,
        old: Option<&Secret>,
    ) -> std::result::Result<Secret, String> {
        let cannot = |why: String| format!("no certificate can be issued: {why}");
        let now = self.clock.now();
        let issued = plan::issue(wanted, signer, now, &self.random);
        let (identity, authority) = issued.map_err(|error| cannot(error.to_string()))?;
        let private = encoded(certificate, &identity).map_err(cannot)?;
        let mut secret = old.cloned().unwrap_or_default();
        secret.metadata.name = Some(wanted.secret.clone());
        secret.metadata.namespace = certificate.namespace();
        secret.annotations_mut().extend(wanted.annotations.clone());
        secret.annotations_mut().insert(CERTIFICATE_NAME.to_owned(), certificate.name_any());
        secret.labels_mut().extend(wanted.labels.clone());
        secret.type_.get_or_insert_with(|| "kubernetes.io/tls".to_owned());
        let bundle = format!("{authority}{bundle}");
        let data: BTreeMap<String, ByteString> =
            [("tls.crt", identity.certificate.as_str()), ("tls.key", private.as_str()), ("ca.crt", &bundle)]
                .map(|(name, text)| (name.to_owned(), ByteString(text.as_bytes().to_vec())))
                .into();
        secret.data.get_or_insert_default().extend(data);
        plan::check(wanted, signer, &secret, now).map_err(|why| cannot(format!("of a new one, {why}")))?;
        Ok(secret)
    }

    async fn store(&self, secret: &Secret, exists: bool) -> Result<()> {
        let (namespace, name) = (secret.namespace().unwrap_or_default(), secret.name_any());
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &namespace);
        let written = match exists {
            true => secrets.replace(&name, &PostParams::default(), secret).await,
            false => secrets.create(&PostParams::default(), secret).await,
        };
        written.map(drop).map_err(|error| Error::api(format!("write Secret {namespace}/{name}"), error))
    }

    /// Says why there is no certificate, or why that which is there has not followed.
    async fn refuse(&self, certificate: &DynamicObject, words: (&str, &str)) -> Result<Action> {
        self.report(certificate, json!({}), "False", words).await?;
        Ok(Action::done())
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
fn encoded(certificate: &DynamicObject, identity: &Identity) -> std::result::Result<String, String> {
    match certificate.data["spec"]["privateKey"]["encoding"].as_str() {
        Some("PKCS8") => {
            let key = PrivateKey::from_pem(&identity.key);
            Ok(key.map_err(|error| format!("cannot encode the key: {error}"))?.to_pkcs8_pem())
        }
        _ => Ok(identity.key.clone()),
    }
}
