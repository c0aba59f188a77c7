//! Whether a certificate is good, and what a new one contains.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use k8s_openapi::api::core::v1::Secret;
use kube::api::DynamicObject;
use machinery::random::Random;
use pki::{CertificateAuthority, Identity, KeyAlgorithm, Leaf, Usage, inspect};
use serde_json::{Value, json};

/// The validity of a certificate that names none; that of cert-manager.
const VALIDITY: TimeDelta = TimeDelta::days(90);

/// What a Certificate asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The name of the Secret.
    pub secret: String,
    /// Labels of the Secret.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the Secret.
    pub annotations: BTreeMap<String, String>,
    common_name: String,
    organizations: Vec<String>,
    names: Vec<String>,
    usage: Usage,
    is_authority: bool,
    algorithm: KeyAlgorithm,
    validity: TimeDelta,
    renew_before: TimeDelta,
}

/// Who signs.
#[derive(Clone, Debug)]
pub enum Signer {
    /// An authority that is made for this certificate alone.
    Itself,
    /// An authority in a Secret.
    Authority(Arc<CertificateAuthority>),
}

/// What is to be done.
#[derive(Debug)]
pub enum Plan {
    /// Nothing can be done, for this reason and with this message.
    Wait(&'static str, String),
    /// The certificate is good.
    Keep {
        /// The wanted status.
        status: Value,
        /// When it is to be renewed.
        renew_in: Duration,
    },
    /// A new one is to be issued.
    Issue {
        /// Who signs it.
        signer: Signer,
        /// The authorities of the certificate that it replaces: programs may still use it for a moment.
        bundle: String,
    },
}

impl Wanted {
    /// Reads a Certificate.
    pub fn of(certificate: &DynamicObject) -> Self {
        let spec = &certificate.data["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<String>>();
        let map = |value: &Value| {
            let entries = value.as_object().into_iter().flatten();
            entries.map(|(key, value)| (key.clone(), text(value))).collect::<BTreeMap<_, _>>()
        };
        let names: Vec<String> =
            texts(&spec["dnsNames"]).into_iter().chain(texts(&spec["ipAddresses"])).collect();
        let usages = texts(&spec["usages"]);
        let has = |usage: &str| usages.iter().any(|one| one == usage);
        let validity = duration(&spec["duration"]).unwrap_or(VALIDITY);
        let common_name = match text(&spec["commonName"]) {
            empty if empty.is_empty() => names.first().cloned().unwrap_or_default(),
            name => name,
        };
        Self {
            secret: text(&spec["secretName"]),
            labels: map(&spec["secretTemplate"]["labels"]),
            annotations: map(&spec["secretTemplate"]["annotations"]),
            common_name,
            organizations: texts(&spec["subject"]["organizations"]),
            names,
            usage: match (has("client auth"), has("server auth")) {
                (true, true) => Usage::ClientAndServer,
                (true, false) => Usage::Client,
                _ => Usage::Server,
            },
            is_authority: spec["isCA"] == true,
            algorithm: algorithm(&spec["privateKey"]),
            validity,
            renew_before: duration(&spec["renewBefore"])
                .filter(|before| *before < validity)
                .unwrap_or(validity / 3),
        }
    }
}

fn algorithm(key: &Value) -> KeyAlgorithm {
    match (key["algorithm"].as_str(), key["size"].as_u64()) {
        (Some("RSA"), Some(3072)) => KeyAlgorithm::Rsa3072,
        (Some("RSA"), Some(4096)) => KeyAlgorithm::Rsa4096,
        (Some("RSA"), _) => KeyAlgorithm::Rsa2048,
        (_, Some(384)) => KeyAlgorithm::EcdsaP384,
        // Its keys are made in microseconds, and every client knows it.
        _ => KeyAlgorithm::EcdsaP256,
    }
}

fn duration(value: &Value) -> Option<TimeDelta> {
    let parsed = machinery::duration::parse(value.as_str()?)?;
    TimeDelta::from_std(parsed).ok().filter(|duration| *duration > TimeDelta::zero())
}

/// Decides about a Certificate with its Secret.
pub fn plan(
    wanted: &Wanted,
    signer: Result<Signer, String>,
    secret: Option<&Secret>,
    now: DateTime<Utc>,
) -> Plan {
    if wanted.secret.is_empty() {
        return Plan::Wait("Invalid", "spec.secretName is empty".to_owned());
    }
    let signer = match signer {
        Ok(signer) => signer,
        Err(message) => return Plan::Wait("IssuerNotFound", message),
    };
    let bundle = secret.map(|secret| text(secret, "ca.crt")).unwrap_or_default();
    let current = secret.and_then(|secret| current(wanted, secret, &signer));
    match current {
        Some((from, until)) if now < until - wanted.renew_before && from <= now + TimeDelta::hours(1) => {
            let renewal = until - wanted.renew_before;
            let time = |time: DateTime<Utc>| time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
            Plan::Keep {
                status: json!({"notBefore": time(from), "notAfter": time(until), "renewalTime": time(renewal)}),
                renew_in: (renewal - now).to_std().unwrap_or_default(),
            }
        }
        Some((_, until)) if until > now => Plan::Issue { signer, bundle: first(&bundle) },
        _ => Plan::Issue { signer, bundle: String::new() },
    }
}

/// Returns the validity of the certificate in a Secret, if it is the wanted one.
fn current(wanted: &Wanted, secret: &Secret, signer: &Signer) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let (certificate, key) = (text(secret, "tls.crt"), text(secret, "tls.key"));
    let facts = inspect(&certificate).ok()?;
    let has_key = pki::PrivateKey::from_pem(&key).is_ok_and(|key| key.public_key_der() == facts.public_key);
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    let is_signed = match signer {
        Signer::Itself => !text(secret, "ca.crt").is_empty(),
        Signer::Authority(authority) => text(secret, "ca.crt").contains(authority.certificate().trim()),
    };
    let is_wanted = has_key
        && is_signed
        && facts.is_authority == wanted.is_authority
        && facts.common_name == wanted.common_name
        && (wanted.is_authority || sorted(&facts.names) == sorted(&wanted.names));
    is_wanted.then_some((facts.not_before, facts.not_after))
}

/// Returns the first certificate of a bundle: that of the authority in use.
fn first(bundle: &str) -> String {
    const END: &str = "-----END CERTIFICATE-----";
    bundle.find(END).map(|at| format!("{}\n", &bundle[..at + END.len()])).unwrap_or_default()
}

/// Issues the wanted certificate, and returns it with the certificate of its authority.
///
/// # Errors
/// A name is invalid.
pub fn issue(
    wanted: &Wanted,
    signer: &Signer,
    now: DateTime<Utc>,
    random: &Random,
) -> Result<(Identity, String), pki::Error> {
    if wanted.is_authority {
        let made = CertificateAuthority::generate(
            &wanted.common_name,
            wanted.algorithm,
            Some(wanted.validity),
            now,
            random,
        )?;
        return Ok((made.identity(), made.certificate().to_owned()));
    }
    let own;
    let authority = match signer {
        Signer::Authority(authority) => authority.as_ref(),
        Signer::Itself => {
            let name = format!("authority of {}", wanted.common_name);
            own =
                CertificateAuthority::generate(&name, wanted.algorithm, Some(wanted.validity), now, random)?;
            &own
        }
    };
    let leaf = Leaf {
        common_name: wanted.common_name.clone(),
        organizations: wanted.organizations.clone(),
        names: wanted.names.clone(),
        usage: wanted.usage,
        validity: wanted.validity,
        algorithm: wanted.algorithm,
    };
    Ok((authority.issue(&leaf, now, random)?, authority.certificate().to_owned()))
}

/// Returns a value of a Secret as text.
pub fn text(secret: &Secret, key: &str) -> String {
    let value = secret.data.as_ref().and_then(|data| data.get(key));
    value.map(|value| String::from_utf8_lossy(&value.0).into_owned()).unwrap_or_default()
}
