//! Whether a certificate is good, and what a new one contains.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use k8s_openapi::api::core::v1::Secret;
use machinery::clock::rfc3339;
use machinery::random::Random;
use pki::{BACKDATE_MINUTES, CertificateAuthority, Facts, Identity, Leaf, inspect};
use serde_json::{Value, json};

use super::found::Found;
use super::wanted::Wanted;

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
        /// Why.
        why: &'static str,
    },
}

/// Decides about a Certificate with its Secret.
pub fn plan(
    wanted: &Wanted,
    signer: Result<Signer, String>,
    secret: Option<&Secret>,
    now: DateTime<Utc>,
) -> Plan {
    let signer = match signer {
        Ok(signer) => signer,
        Err(message) => return Plan::Wait("IssuerNotFound", message),
    };
    if wanted.is_authority && matches!(signer, Signer::Authority(_)) {
        let message = "spec.isCA is supported here only for an issuer that is selfSigned; install cert-manager for others";
        return Plan::Wait("Unsupported", message.to_owned());
    }
    let bundle = secret.map(|secret| text(secret, "ca.crt")).unwrap_or_default();
    let (why, still) = match current(wanted, secret, &signer) {
        Ok(facts) if facts.not_before > now + TimeDelta::hours(1) => {
            ("it is not valid yet", facts.not_after > now)
        }
        Ok(facts) if now < facts.not_after - wanted.renew_before => return keep(wanted, &facts, now),
        Ok(facts) => ("it is due for renewal", facts.not_after > now),
        Err(why) => (why, false),
    };
    Plan::Issue { signer, bundle: if still { first(&bundle) } else { String::new() }, why }
}

/// Returns the plan for a good certificate.
fn keep(wanted: &Wanted, facts: &Facts, now: DateTime<Utc>) -> Plan {
    let (from, until) = (facts.not_before, facts.not_after);
    let renewal = until - wanted.renew_before;
    Plan::Keep {
        status: json!({"notBefore": rfc3339(from), "notAfter": rfc3339(until), "renewalTime": rfc3339(renewal)}),
        renew_in: (renewal - now).to_std().unwrap_or_default(),
    }
}

/// Returns the content of the certificate in a Secret.
///
/// # Errors
/// What of it is not as wanted, in the order in which cert-manager looks.
fn current(wanted: &Wanted, secret: Option<&Secret>, signer: &Signer) -> Result<Facts, &'static str> {
    let secret = secret.ok_or("there is no Secret")?;
    let (certificate, key) = (text(secret, "tls.crt"), text(secret, "tls.key"));
    let facts = inspect(&certificate).map_err(|_| "the Secret has no certificate")?;
    let has_key = pki::PrivateKey::from_pem(&key).is_ok_and(|key| key.public_key_der() == facts.public_key);
    let found = Found::read(&certificate).ok_or("its certificate cannot be read")?;
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    let is_signed = match signer {
        Signer::Itself => !text(secret, "ca.crt").is_empty(),
        Signer::Authority(authority) => text(secret, "ca.crt").contains(authority.certificate().trim()),
    };
    let is_authority = wanted.is_authority;
    let checks = [
        (has_key, "the key in the Secret is not that of its certificate"),
        (found.algorithm == Some(wanted.algorithm), "spec.privateKey has changed"),
        (is_signed, "another authority signs it"),
        (facts.is_authority == is_authority, "spec.isCA has changed"),
        (facts.common_name == wanted.common_name, "spec.commonName has changed"),
        (sorted(&facts.organizations) == sorted(&wanted.organizations), "spec.subject has changed"),
        (is_authority || sorted(&facts.names) == sorted(&wanted.names), "its names have changed"),
        (is_authority || found.usage == Some(wanted.usage), "spec.usages has changed"),
        (is_about(facts.not_after - facts.not_before, wanted.validity), "spec.duration has changed"),
    ];
    match checks.iter().find(|(is_wanted, _)| !is_wanted) {
        Some((_, why)) => Err(why),
        None => Ok(facts),
    }
}

/// Checks a certificate that was issued: one that is not as wanted would be replaced by another one for ever.
///
/// # Errors
/// What is not as wanted.
pub fn check(
    wanted: &Wanted,
    signer: &Signer,
    issued: &Secret,
    now: DateTime<Utc>,
) -> Result<(), &'static str> {
    let facts = current(wanted, Some(issued), signer)?;
    if now < facts.not_after - wanted.renew_before { Ok(()) } else { Err("it is due for renewal at once") }
}

/// Returns whether a certificate is valid for the wanted time, besides the minutes before its creation. Certificates count in seconds.
fn is_about(validity: TimeDelta, wanted: TimeDelta) -> bool {
    (validity - TimeDelta::minutes(BACKDATE_MINUTES) - wanted).abs() <= TimeDelta::seconds(1)
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

/// Reads the authority in a Secret.
///
/// # Errors
/// There is none, or its certificate may not sign others.
pub fn authority(secret: &Secret) -> Result<CertificateAuthority, String> {
    let (certificate, key) = (text(secret, "tls.crt"), text(secret, "tls.key"));
    let authority = CertificateAuthority::from_pem(&certificate, &key).map_err(|error| error.to_string())?;
    let facts = inspect(&certificate).map_err(|error| error.to_string())?;
    if facts.is_authority { Ok(authority) } else { Err("its certificate may not sign others".to_owned()) }
}

/// Returns a value of a Secret as text.
pub fn text(secret: &Secret, key: &str) -> String {
    let value = secret.data.as_ref().and_then(|data| data.get(key));
    value.map(|value| String::from_utf8_lossy(&value.0).into_owned()).unwrap_or_default()
}
