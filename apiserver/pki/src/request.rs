//! Certificates for keys of others: certificate requests (PKCS #10), and what an authority makes of them.

use chrono::{DateTime, Duration, Utc};
use machinery::random::Random;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose, SanType,
    SerialNumber,
};
use rustls_pki_types::CertificateSigningRequestDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;

use crate::authority::{CertificateAuthority, set_validity};
use crate::{BACKDATE_MINUTES, Error, inspect, pem};

mod names;
mod rewritten;

pub use names::NameKind;

/// Certificates that are valid for less than this end when they were asked to, and others as much earlier as they begin.
const SHORT_HOURS: i64 = 8;

/// A certificate request, whose signature proves that who made it has the key.
pub struct CertificateRequest {
    /// The subject, as DER `Name`.
    subject: Vec<u8>,
    /// The alternative names, in their order.
    alternative_names: Vec<SanType>,
    /// The key, as DER `SubjectPublicKeyInfo`.
    pub public_key: Vec<u8>,
    /// The subject's common name.
    pub common_name: String,
    /// The subject's organizations.
    pub organizations: Vec<String>,
}

impl CertificateRequest {
    /// Reads a request in PEM. All extensions but the alternative names are ignored, as by Kubernetes.
    ///
    /// # Errors
    /// [`Error::Request`]: it is damaged, its signature is wrong or of an unknown kind, or it asks for something that this crate does not
    /// issue, such as a subject with two common names.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        let der = CertificateSigningRequestDer::from_pem_slice(text.as_bytes())
            .map_err(|_| failed("PEM block type must be CERTIFICATE REQUEST"))?;
        let (rest, parsed) = X509CertificationRequest::from_der(&der)
            .map_err(|_| failed("the bytes are no certificate request"))?;
        if !rest.is_empty() {
            return Err(failed("there are bytes after the certificate request"));
        }
        // It takes the curve from the key, which need not go with the hash of the signature.
        parsed.verify_signature().map_err(|error| failed(&error.to_string()))?;
        let info = &parsed.certification_request_info;
        Ok(Self {
            subject: rewritten::subject(info.subject.as_raw())
                .ok_or_else(|| failed("the subject is damaged"))?,
            alternative_names: names::alternative(info)?,
            public_key: info.subject_pki.raw.to_vec(),
            common_name: names::common(&info.subject)?,
            organizations: names::texts(info.subject.iter_organization())?,
        })
    }

    /// Returns whether the request has alternative names of a kind.
    pub fn has(&self, kind: NameKind) -> bool {
        self.alternative_names.iter().any(|name| kind.is_of(name))
    }
}

fn failed(why: &str) -> Error {
    Error::Request(why.to_owned())
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
        let mut params = CertificateParams::default();
        // Stands for the subject, which replaces it below. Only whether there is one matters for the alternative names.
        params.distinguished_name = DistinguishedName::new();
        if request.subject != rewritten::NO_SUBJECT {
            params.distinguished_name.push(DnType::CommonName, request.common_name.as_str());
        }
        params.subject_alt_names.clone_from(&request.alternative_names);
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
        set_validity(&mut params, now - backdate, (now + end).min(last)).map_err(failed)?;
        params.serial_number = Some(SerialNumber::from(random.number() >> 1 | 1));
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        let issuer = self.issuer()?;
        let key = rewritten::RequestedKey(&request.public_key);
        let draft = params.signed_by(&key, &issuer).map_err(|error| failed(error.to_string()))?;
        let signed = rewritten::signed(draft.der(), &request.subject, &request.public_key, issuer.key());
        Ok(pem::encode("CERTIFICATE", &signed.map_err(failed)?))
    }
}
