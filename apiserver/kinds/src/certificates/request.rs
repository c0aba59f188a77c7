//! The PKCS#10 request in `spec.request`, signed with the key that it asks a certificate for.

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::error::X509Error;
use x509_parser::prelude::FromDer;

use super::pem;

/// Checks that `text` is a PEM certificate request whose signature proves possession of the key.
///
/// # Errors
/// The reason, as a message of the Go implementation.
pub(crate) fn check(text: &[u8]) -> Result<(), String> {
    let der = der(text)?;
    is_sequence(&der)?;
    let (_, request) = X509CertificationRequest::from_der(&der)
        .map_err(|_| "asn1: structure error: the bytes are no certificate request".to_owned())?;
    match request.verify_signature() {
        // This server does not know all algorithms (P-521, for example); the signer checks those signatures.
        Ok(()) | Err(X509Error::SignatureUnsupportedAlgorithm) => Ok(()),
        Err(_) => Err(mismatch(&request.signature_algorithm.algorithm.to_id_string()).to_owned()),
    }
}

/// Returns Go's message for a wrong signature, by the object identifier of the signature algorithm.
fn mismatch(algorithm: &str) -> &'static str {
    match algorithm {
        "1.3.101.112" => "x509: Ed25519 verification failure",
        id if id.starts_with("1.2.840.10045.") => "x509: ECDSA verification failure",
        _ => "crypto/rsa: verification error",
    }
}

/// Returns the organizations of the subject, which become the groups of the certificate's user.
pub(crate) fn organizations(text: &[u8]) -> Vec<String> {
    let Ok(der) = der(text) else { return Vec::new() };
    let Ok((_, request)) = X509CertificationRequest::from_der(&der) else { return Vec::new() };
    let subject = &request.certification_request_info.subject;
    subject.iter_organization().filter_map(|one| one.as_str().ok().map(str::to_owned)).collect()
}

fn der(text: &[u8]) -> Result<Vec<u8>, String> {
    let first = pem::blocks(&String::from_utf8_lossy(text)).into_iter().next();
    let first = first.filter(|block| block.label == "CERTIFICATE REQUEST");
    first.map(|block| block.bytes).ok_or_else(|| "PEM block type must be CERTIFICATE REQUEST".to_owned())
}

/// Checks that the bytes are exactly one ASN.1 sequence, as a request is.
fn is_sequence(der: &[u8]) -> Result<(), &'static str> {
    const TRUNCATED: &str = "asn1: syntax error: truncated tag or length";
    let (&[tag, first], rest) = der.split_first_chunk::<2>().ok_or(TRUNCATED)?;
    if tag != 0x30 {
        return Err("asn1: structure error: tags don't match");
    }
    let (length, body) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let count = usize::from(first & 0x7f);
        if count == 0 || count > 4 || rest.len() < count {
            return Err(TRUNCATED);
        }
        let (digits, body) = rest.split_at(count);
        (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), body)
    };
    match body.len() {
        found if found < length => Err("asn1: syntax error: data truncated"),
        found if found > length => Err("asn1: syntax error: trailing data"),
        _ => Ok(()),
    }
}
