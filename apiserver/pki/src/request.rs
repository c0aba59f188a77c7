//! Certificates for keys of others: certificate requests (PKCS #10), and what an authority makes of them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use chrono::{DateTime, Duration, Utc};
use machinery::random::Random;
use rcgen::{
    CertificateSigningRequestParams, DnType, DnValue, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose,
    SanType, SerialNumber,
};
use rustls_pki_types::CertificateSigningRequestDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;

use crate::authority::{CertificateAuthority, set_validity};
use crate::{BACKDATE_MINUTES, Error, inspect};

/// Certificates that are valid for less than this end when they were asked to, and others as much earlier as they begin.
const SHORT_HOURS: i64 = 8;

/// A certificate request, whose signature proves that who made it has the key.
pub struct CertificateRequest {
    params: CertificateSigningRequestParams,
    /// The subject's common name.
    pub common_name: String,
    /// The subject's organizations.
    pub organizations: Vec<String>,
    /// DNS names.
    pub dns_names: Vec<String>,
    /// IP addresses.
    pub addresses: Vec<IpAddr>,
    /// E-mail addresses.
    pub emails: Vec<String>,
    /// URIs.
    pub uris: Vec<String>,
}

impl CertificateRequest {
    /// Reads a request in PEM.
    ///
    /// # Errors
    /// [`Error::Request`]: it is damaged, its signature is wrong, or it asks for something that this crate cannot issue, such as a subject
    /// with two values of one kind.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        let failed = |why: &str| Error::Request(why.to_owned());
        let der = CertificateSigningRequestDer::from_pem_slice(text.as_bytes())
            .map_err(|_| failed("PEM block type must be CERTIFICATE REQUEST"))?;
        let (_, parsed) = X509CertificationRequest::from_der(&der)
            .map_err(|_| failed("the bytes are no certificate request"))?;
        let mut kinds = BTreeSet::new();
        for attribute in parsed.certification_request_info.subject.iter_attributes() {
            if !kinds.insert(attribute.attr_type().to_id_string()) {
                return Err(failed("a subject with several values of one kind is not supported"));
            }
        }
        let params = CertificateSigningRequestParams::from_der(&der)
            .map_err(|error| Error::Request(error.to_string()))?;
        let mut request = Self {
            common_name: String::new(),
            organizations: Vec::new(),
            dns_names: Vec::new(),
            addresses: Vec::new(),
            emails: Vec::new(),
            uris: Vec::new(),
            params,
        };
        for (kind, value) in request.params.params.distinguished_name.iter() {
            match kind {
                DnType::CommonName => request.common_name = shown(value),
                DnType::OrganizationName => request.organizations.push(shown(value)),
                _ => {}
            }
        }
        for name in &request.params.params.subject_alt_names {
            match name {
                SanType::DnsName(name) => request.dns_names.push(name.to_string()),
                SanType::IpAddress(address) => request.addresses.push(*address),
                SanType::Rfc822Name(name) => request.emails.push(name.to_string()),
                SanType::URI(name) => request.uris.push(name.to_string()),
                _ => return Err(failed("an alternative name of this kind is not supported")),
            }
        }
        Ok(request)
    }
}

fn shown(value: &DnValue) -> String {
    match value {
        DnValue::Utf8String(text) => text.clone(),
        DnValue::PrintableString(text) => text.to_string(),
        DnValue::Ia5String(text) => text.to_string(),
        other => format!("{other:?}"),
    }
}

/// What a key of a certificate may be used for, in the words of Kubernetes' `spec.usages`.
enum Purpose {
    Key(KeyUsagePurpose),
    Extended(ExtendedKeyUsagePurpose),
}

fn purpose(usage: &str) -> Option<Purpose> {
    Some(match usage {
        "signing" | "digital signature" => Purpose::Key(KeyUsagePurpose::DigitalSignature),
        "content commitment" => Purpose::Key(KeyUsagePurpose::ContentCommitment),
        "key encipherment" => Purpose::Key(KeyUsagePurpose::KeyEncipherment),
        "key agreement" => Purpose::Key(KeyUsagePurpose::KeyAgreement),
        "data encipherment" => Purpose::Key(KeyUsagePurpose::DataEncipherment),
        "any" => Purpose::Extended(ExtendedKeyUsagePurpose::Any),
        "server auth" => Purpose::Extended(ExtendedKeyUsagePurpose::ServerAuth),
        "client auth" => Purpose::Extended(ExtendedKeyUsagePurpose::ClientAuth),
        "code signing" => Purpose::Extended(ExtendedKeyUsagePurpose::CodeSigning),
        "email protection" | "s/mime" => Purpose::Extended(ExtendedKeyUsagePurpose::EmailProtection),
        "timestamping" => Purpose::Extended(ExtendedKeyUsagePurpose::TimeStamping),
        "ocsp signing" => Purpose::Extended(ExtendedKeyUsagePurpose::OcspSigning),
        _ => return None,
    })
}

impl CertificateAuthority {
    /// Issues the certificate that a request asks for, in PEM: its subject, names and key with these usages, and never longer than the
    /// authority itself is valid.
    ///
    /// # Errors
    /// [`Error::Issue`] for an unknown usage, or if the authority has expired.
    pub fn sign(
        &self,
        request: &CertificateRequest,
        usages: &[&str],
        validity: Duration,
        now: DateTime<Utc>,
        random: &Random,
    ) -> Result<String, Error> {
        let failed = |why: String| Error::Issue { name: request.common_name.clone(), why };
        let mut asked = request.params.clone();
        let params = &mut asked.params;
        params.key_usages.clear();
        params.extended_key_usages.clear();
        for usage in usages {
            match purpose(usage).ok_or_else(|| failed(format!("the usage {usage:?} is not supported")))? {
                Purpose::Key(purpose) => params.key_usages.push(purpose),
                Purpose::Extended(purpose) => params.extended_key_usages.push(purpose),
            }
        }
        let last = inspect(self.certificate())?.not_after;
        if now >= last {
            return Err(failed(format!("the certificate authority has expired: {last}")));
        }
        let backdate = Duration::minutes(BACKDATE_MINUTES);
        let end = if validity < Duration::hours(SHORT_HOURS) { validity } else { validity - backdate };
        set_validity(params, now - backdate, (now + end).min(last)).map_err(failed)?;
        params.serial_number = Some(SerialNumber::from(random.number() >> 1 | 1));
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        let signed = asked.signed_by(&self.issuer()?).map_err(|error| failed(error.to_string()))?;
        Ok(signed.pem())
    }
}
