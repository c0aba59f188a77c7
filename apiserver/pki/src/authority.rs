//! Certificate authorities and the certificates they issue.

use std::net::IpAddr;

use chrono::{DateTime, Duration, Utc};
use machinery::random::Random;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};

use crate::error::Error;
use crate::key::{KeyAlgorithm, PrivateKey};
use crate::{AUTHORITY_VALIDITY_DAYS, BACKDATE_MINUTES, LEAF_VALIDITY_DAYS, inspect, pem};

/// The purpose of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// TLS client authentication.
    Client,
    /// TLS server authentication.
    Server,
    /// Both, as for etcd's members.
    ClientAndServer,
}

/// The content of a certificate to be issued.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// The subject's common name; Kubernetes uses it as user name.
    pub common_name: String,
    /// The subject's organizations; Kubernetes uses them as groups.
    pub organizations: Vec<String>,
    /// Subject alternative names: IP addresses and DNS names.
    pub names: Vec<String>,
    /// Purpose of the certificate.
    pub usage: Usage,
    /// Validity from now on.
    pub validity: Duration,
    /// Algorithm of the certificate's key.
    pub algorithm: KeyAlgorithm,
}

impl Leaf {
    /// Describes a client certificate, valid for a year.
    pub fn client(common_name: impl Into<String>, organizations: &[&str]) -> Self {
        Self {
            common_name: common_name.into(),
            organizations: organizations.iter().map(|name| (*name).to_owned()).collect(),
            names: Vec::new(),
            usage: Usage::Client,
            validity: Duration::days(LEAF_VALIDITY_DAYS),
            algorithm: KeyAlgorithm::default(),
        }
    }

    /// Describes a server certificate for `names` (IP addresses and DNS names), valid for a year.
    pub fn server(common_name: impl Into<String>, names: Vec<String>) -> Self {
        Self { names, usage: Usage::Server, ..Self::client(common_name, &[]) }
    }

    /// Sets another validity.
    pub fn valid_for(mut self, validity: Duration) -> Self {
        self.validity = validity;
        self
    }
}

/// A certificate and its private key, both as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// The private key; secret.
    pub key: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// A certificate authority, which issues certificates.
pub struct CertificateAuthority {
    certificate: String,
    key: PrivateKey,
}

impl std::fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CertificateAuthority").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl CertificateAuthority {
    /// Creates a self-signed authority named `common_name` (`kubernetes` for a cluster's), valid for
    /// `validity` or ten years.
    ///
    /// # Errors
    /// [`Error::Generate`] and [`Error::Issue`].
    pub fn generate(
        common_name: &str,
        algorithm: KeyAlgorithm,
        validity: Option<Duration>,
        now: DateTime<Utc>,
        random: &Random,
    ) -> Result<Self, Error> {
        Self::self_signed(common_name, PrivateKey::generate(algorithm, random)?, validity, now)
    }

    /// Returns the authority with the same name and key, valid for ten years from now on. Certificates it
    /// issued remain valid.
    ///
    /// # Errors
    /// [`Error::Issue`]; [`Error::Certificate`] if its own certificate is damaged.
    pub fn renewed(self, now: DateTime<Utc>) -> Result<Self, Error> {
        let name = inspect(&self.certificate)?.common_name;
        Self::self_signed(&name, self.key, None, now)
    }

    fn self_signed(
        common_name: &str,
        key: PrivateKey,
        validity: Option<Duration>,
        now: DateTime<Utc>,
    ) -> Result<Self, Error> {
        let failed = |why: String| Error::Issue { name: common_name.to_owned(), why };
        let validity = validity.unwrap_or_else(|| Duration::days(AUTHORITY_VALIDITY_DAYS));
        let mut params = parameters(common_name, &[], now, validity).map_err(failed)?;
        params.serial_number = Some(SerialNumber::from_slice(&[0]));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
            KeyUsagePurpose::KeyCertSign,
        ];
        let certificate = params.self_signed(&key.pair).map_err(|error| failed(error.to_string()))?;
        Ok(Self { certificate: certificate.pem(), key })
    }

    /// Reads an authority from its certificate (the first, if there are several) and private key in PEM.
    ///
    /// # Errors
    /// [`Error::Pem`], [`Error::Key`], [`Error::Certificate`]; [`Error::Mismatch`] if certificate and key do
    /// not match.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, Error> {
        let key = PrivateKey::from_pem(key)?;
        let facts = inspect(certificate)?;
        if facts.public_key != key.public_key_der() {
            return Err(Error::Mismatch { name: facts.common_name });
        }
        Ok(Self { certificate: certificate.to_owned(), key })
    }

    /// Returns the authority's certificate in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Returns the authority's certificate and key in PEM.
    pub fn identity(&self) -> Identity {
        Identity { certificate: self.certificate.clone(), key: self.key.to_pem() }
    }

    /// Issues a certificate with a new key.
    ///
    /// # Errors
    /// [`Error::Generate`]; [`Error::Issue`], for example if a name is not a DNS name or is the authority's
    /// own.
    pub fn issue(&self, leaf: &Leaf, now: DateTime<Utc>, random: &Random) -> Result<Identity, Error> {
        let failed = |why: String| Error::Issue { name: leaf.common_name.clone(), why };
        // OpenSSL takes a certificate whose subject equals its issuer for a self-signed one, and never trusts
        // it.
        if leaf.organizations.is_empty() && inspect(&self.certificate)?.common_name == leaf.common_name {
            return Err(failed("it is the name of the certificate authority".to_owned()));
        }
        let mut params =
            parameters(&leaf.common_name, &leaf.organizations, now, leaf.validity).map_err(failed)?;
        // 63 bits, as in Go's crypto: positive in DER without a padding byte.
        params.serial_number = Some(SerialNumber::from(random.number() >> 1 | 1));
        params.subject_alt_names = subject_alt_names(&leaf.names).map_err(failed)?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = match leaf.usage {
            Usage::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
            Usage::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
            Usage::ClientAndServer => {
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth]
            }
        };
        params.use_authority_key_identifier_extension = true;
        let key = PrivateKey::generate(leaf.algorithm, random)?;
        let certificate =
            params.signed_by(&key.pair, &self.issuer()?).map_err(|error| failed(error.to_string()))?;
        Ok(Identity { certificate: certificate.pem(), key: key.to_pem() })
    }

    pub(crate) fn issuer(&self) -> Result<Issuer<'_, &KeyPair>, Error> {
        let der = pem::certificates(&self.certificate)?;
        let first = der.first().ok_or_else(|| Error::Certificate("no certificate".to_owned()))?;
        Issuer::from_ca_cert_der(first, &self.key.pair).map_err(|error| Error::Certificate(error.to_string()))
    }
}

/// Sets the times between which a certificate is valid.
pub(crate) fn set_validity(
    params: &mut CertificateParams,
    start: DateTime<Utc>,
    end: DateTime<Utc>,
) -> Result<(), String> {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let at = |time: DateTime<Utc>| {
        u64::try_from(time.timestamp())
            .map(|seconds| epoch + std::time::Duration::from_secs(seconds))
            .map_err(|_| "the time is before 1970".to_owned())
    };
    params.not_before = at(start)?;
    params.not_after = at(end)?;
    Ok(())
}

/// Returns the parameters that authorities and leaf certificates share.
fn parameters(
    common_name: &str,
    organizations: &[String],
    now: DateTime<Utc>,
    validity: Duration,
) -> Result<CertificateParams, String> {
    let mut params = CertificateParams::default();
    let end = now.checked_add_signed(validity).ok_or("the validity is too long")?;
    set_validity(&mut params, now - Duration::minutes(BACKDATE_MINUTES), end)?;
    let mut name = DistinguishedName::new();
    for organization in organizations {
        name.push(DnType::OrganizationName, organization.as_str());
    }
    name.push(DnType::CommonName, common_name);
    params.distinguished_name = name;
    Ok(params)
}

fn subject_alt_names(names: &[String]) -> Result<Vec<SanType>, String> {
    names
        .iter()
        .map(|name| match name.parse::<IpAddr>() {
            Ok(address) => Ok(SanType::IpAddress(address)),
            Err(_) => dns_name(name).map(SanType::DnsName),
        })
        .collect()
}

fn dns_name(name: &str) -> Result<rcgen::string::Ia5String, String> {
    let refused = || format!("{name:?} is neither an IP address nor a DNS name");
    rustls_pki_types::DnsName::try_from(name.strip_prefix("*.").unwrap_or(name)).map_err(|_| refused())?;
    name.try_into().map_err(|_| refused())
}
