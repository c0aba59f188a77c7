//! Parses certificates.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::error::Error;
use crate::pem;

/// The content of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The subject's common name; empty if it has none.
    pub common_name: String,
    /// The subject's organizations.
    pub organizations: Vec<String>,
    /// Subject alternative names: IP addresses and DNS names.
    pub names: Vec<String>,
    /// Start of validity.
    pub not_before: DateTime<Utc>,
    /// End of validity.
    pub not_after: DateTime<Utc>,
    /// Whether the certificate may sign others.
    pub is_authority: bool,
    /// DER `SubjectPublicKeyInfo`.
    pub public_key: Vec<u8>,
}

/// Parses the first certificate in `text` (PEM).
///
/// # Errors
/// [`Error::Pem`], [`Error::Certificate`].
pub fn inspect(text: &str) -> Result<Facts, Error> {
    let found = pem::certificates(text)?;
    let der = found.first().ok_or_else(|| Error::Certificate("no certificate".to_owned()))?;
    inspect_der(der)
}

/// Parses one certificate (DER).
///
/// # Errors
/// [`Error::Certificate`].
pub fn inspect_der(der: &[u8]) -> Result<Facts, Error> {
    let (_, certificate) =
        X509Certificate::from_der(der).map_err(|error| Error::Certificate(error.to_string()))?;
    let subject = certificate.subject();
    let time = |at: x509_parser::time::ASN1Time| {
        DateTime::from_timestamp(at.timestamp(), 0)
            .ok_or_else(|| Error::Certificate("a time is out of range".to_owned()))
    };
    let names = certificate
        .subject_alternative_name()
        .map_err(|error| Error::Certificate(error.to_string()))?
        .map(|extension| extension.value.general_names.iter().filter_map(name_text).collect())
        .unwrap_or_default();
    Ok(Facts {
        common_name: subject
            .iter_common_name()
            .next()
            .and_then(|name| name.as_str().ok())
            .unwrap_or_default()
            .to_owned(),
        organizations: subject
            .iter_organization()
            .filter_map(|name| name.as_str().ok())
            .map(str::to_owned)
            .collect(),
        names,
        not_before: time(certificate.validity().not_before)?,
        not_after: time(certificate.validity().not_after)?,
        is_authority: certificate.is_ca(),
        public_key: certificate.public_key().raw.to_vec(),
    })
}

fn name_text(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(text) => Some((*text).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
        _ => None,
    }
}

/// Returns the IP address of an alternative name. Returns `None` for a wrong number of bytes.
pub(crate) fn address(bytes: &[u8]) -> Option<IpAddr> {
    let short = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    short.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

/// Returns the hash by which a joining node recognizes the authority: `sha256:` and the hexadecimal SHA-256
/// of its public key in DER.
///
/// # Errors
/// The errors of [`inspect`].
pub fn discovery_hash(authority: &str) -> Result<String, Error> {
    let digest = Sha256::digest(inspect(authority)?.public_key);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sha256:{hex}"))
}

/// Returns whether a certificate should be renewed: two thirds of its validity have passed, or it is not
/// valid yet because it was issued while the clock was ahead.
pub fn renewal_due(facts: &Facts, now: DateTime<Utc>) -> bool {
    if now < facts.not_before {
        return true;
    }
    let life = facts.not_after - facts.not_before;
    now - facts.not_before >= life * 2 / 3
}
