//! Checks of the Secrets with a cluster's authorities and keys: whether they can be used.

use chrono::{DateTime, Utc};
use engine::object;
use k8s_openapi::api::core::v1::Secret;
use machinery::cache::Cache;
use machinery::clock::rfc3339;

use crate::certificates::{CERTIFICATE_KEY, PRIVATE_KEY, Purpose, needs_key, text};

/// The most results of checks that are kept in memory.
const MAX_CHECKS: usize = 20_000;

/// When a certificate becomes and ceases to be valid.
type Validity = (DateTime<Utc>, DateTime<Utc>);

/// What was found out about the content of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Why the content cannot be used, whatever the time.
    broken: Option<String>,
    /// `None` for keys without a certificate.
    validity: Option<Validity>,
}

impl Checked {
    /// Checks certificate and key of a Secret, and whether they belong together.
    pub fn of(secret: &Secret, purpose: Purpose) -> Self {
        match facts(secret, purpose) {
            Ok(validity) => Self { broken: None, validity },
            Err(broken) => Self { broken: Some(broken), validity: None },
        }
    }

    /// Returns why the Secret cannot be used now, as a sentence that names it.
    pub fn problem(&self, secret: &str, now: DateTime<Utc>) -> Option<String> {
        if let Some(broken) = &self.broken {
            return Some(format!("Secret {secret} {broken}"));
        }
        let (from, until) = self.validity?;
        if now < from {
            return Some(format!(
                "Secret {secret} has a certificate that is not valid before {}",
                rfc3339(from)
            ));
        }
        (now >= until)
            .then(|| format!("Secret {secret} has a certificate that expired at {}", rfc3339(until)))
    }

    /// Returns when the certificate becomes valid, if it is not yet.
    pub fn valid_from(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.validity.map(|(from, _)| from).filter(|from| now < *from)
    }
}

fn facts(secret: &Secret, purpose: Purpose) -> Result<Option<Validity>, String> {
    let unusable = |key: &'static str| move |error: pki::Error| format!("has an unusable {key}: {error}");
    let certificate = text(secret, CERTIFICATE_KEY)
        .ok_or_else(|| format!("has no text under the key {CERTIFICATE_KEY}"))?;
    let (public_key, validity) = if purpose == Purpose::ServiceAccount {
        (pki::public_key(&certificate).map_err(unusable(CERTIFICATE_KEY))?, None)
    } else {
        let facts = pki::inspect(&certificate).map_err(unusable(CERTIFICATE_KEY))?;
        if !facts.is_authority && purpose != Purpose::EtcdClient {
            return Err(format!("has a certificate under {CERTIFICATE_KEY} that is not one of an authority"));
        }
        (facts.public_key, Some((facts.not_before, facts.not_after)))
    };
    match text(secret, PRIVATE_KEY) {
        None if needs_key(purpose) => Err(format!("has no text under the key {PRIVATE_KEY}")),
        None => Ok(validity),
        Some(key) => {
            let key = pki::PrivateKey::from_pem(&key).map_err(unusable(PRIVATE_KEY))?;
            if key.public_key_der() != public_key {
                return Err(format!(
                    "has a private key ({PRIVATE_KEY}) that does not belong to {CERTIFICATE_KEY}"
                ));
            }
            Ok(validity)
        }
    }
}

/// The results of the checks of Secrets, which are parsed once for each version.
pub struct Checks(Cache<String, (u64, Checked)>);

impl Default for Checks {
    fn default() -> Self {
        Self(Cache::new(MAX_CHECKS))
    }
}

impl Checks {
    /// Returns what was found out about a Secret.
    pub fn of(&self, secret: &Secret, purpose: Purpose) -> Checked {
        let (uid, version) = (object::uid(secret).to_owned(), object::version(secret));
        let known = self.0.get(&uid).filter(|(known, _)| *known == version);
        if let Some((_, checked)) = known {
            return checked;
        }
        let checked = Checked::of(secret, purpose);
        self.0.keep(uid, (version, checked.clone()));
        checked
    }
}
