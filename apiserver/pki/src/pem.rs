//! Reads and writes PEM text.

use ::rsa::pkcs1::ALGORITHM_ID as RSA;
use ::rsa::pkcs8::{ObjectIdentifier, PrivateKeyInfo};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::error::Error;

/// AlgorithmIdentifier of `rsaEncryption` with NULL parameters.
const RSA_ALGORITHM: &[u8] =
    &[0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
/// OBJECT IDENTIFIER `id-ecPublicKey`.
const EC_PUBLIC_KEY: &[u8] = &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// OBJECT IDENTIFIER `prime256v1`.
const P256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// OBJECT IDENTIFIER `secp384r1`.
const P384: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22];

/// Returns all certificates in `text`, in order; at least one.
///
/// # Errors
/// [`Error::Pem`] if there is none, or a block is damaged.
pub fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let refused = |why: String| Error::Pem { what: "the certificate", why };
    let found = CertificateDer::pem_slice_iter(text.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| refused(error.to_string()))?;
    if found.is_empty() {
        return Err(refused("no CERTIFICATE block".to_owned()));
    }
    Ok(found)
}

/// Returns the public key of the first certificate in `text`, or else its first public key, as DER
/// `SubjectPublicKeyInfo`.
///
/// # Errors
/// [`Error::Pem`] if there is neither.
pub fn public_key(text: &str) -> Result<Vec<u8>, Error> {
    if let Some(Ok(certificate)) = CertificateDer::pem_slice_iter(text.as_bytes()).next() {
        let (_, certificate) = X509Certificate::from_der(&certificate)
            .map_err(|error| Error::Pem { what: "the certificate", why: error.to_string() })?;
        return Ok(certificate.public_key().raw.to_vec());
    }
    SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes())
        .map(|der| der.to_vec())
        .map_err(|error| Error::Pem { what: "the public key", why: error.to_string() })
}

/// Returns the first private key in `text`.
pub(crate) fn private_key(text: &str) -> Result<PrivateKeyDer<'static>, Error> {
    // The parser's message could quote the text.
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| Error::Pem {
        what: "the private key",
        why: "no intact PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY block".to_owned(),
    })
}

/// Returns the first private key in `text` as PKCS #8, the only format that ring reads for every algorithm.
pub(crate) fn private_key_as_pkcs8(text: &str) -> Result<Vec<u8>, Error> {
    Ok(match private_key(text)? {
        PrivateKeyDer::Pkcs8(key) => key.secret_pkcs8_der().to_vec(),
        PrivateKeyDer::Pkcs1(key) => wrap(RSA_ALGORITHM, key.secret_pkcs1_der()),
        PrivateKeyDer::Sec1(key) => {
            let inner = key.secret_sec1_der();
            let curve = [P256, P384]
                .into_iter()
                .find(|oid| inner.windows(oid.len()).any(|window| window == *oid))
                .ok_or_else(|| Error::Key("an elliptic curve other than P-256 and P-384".to_owned()))?;
            wrap(&tagged(0x30, &[EC_PUBLIC_KEY, curve].concat()), inner)
        }
        _ => return Err(Error::Key("an unknown form of private key".to_owned())),
    })
}

/// Builds a PKCS #8 `PrivateKeyInfo` (RFC 5208): version 0, the algorithm, the key as an octet string.
fn wrap(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    tagged(0x30, &[&[0x02, 0x01, 0x00][..], algorithm, &tagged(0x04, key)].concat())
}

/// Encodes one DER element.
pub(crate) fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len();
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
        out.push(0x80 | bytes.len() as u8);
        out.extend(bytes);
    }
    out.extend(content);
    out
}

/// Splits DER into its elements, each with its tag and length.
pub(crate) fn elements(mut der: &[u8]) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    while !der.is_empty() {
        let (_, _, rest) = element(der)?;
        found.push(der.get(..der.len() - rest.len())?);
        der = rest;
    }
    Some(found)
}

/// Encodes a PKCS #8 key as PEM in the older form of its algorithm (SEC 1 or PKCS #1), as kubeadm and cert-manager write it. Some clients
/// take a key whose header names no algorithm for RSA. Keys of other algorithms stay PKCS #8.
pub(crate) fn encode_private_key(pkcs8: &[u8]) -> String {
    let unchanged = || encode("PRIVATE KEY", pkcs8);
    let Ok(PrivateKeyInfo { algorithm, private_key, .. }) = PrivateKeyInfo::try_from(pkcs8) else {
        return unchanged();
    };
    if algorithm == RSA {
        return encode("RSA PRIVATE KEY", private_key);
    }
    let is = |oid: ObjectIdentifier, encoded: &[u8]| encoded.get(2..) == Some(oid.as_bytes());
    let curve = algorithm.parameters_oid().ok().filter(|_| is(algorithm.oid, EC_PUBLIC_KEY));
    let curve = curve.and_then(|oid| [P256, P384].into_iter().find(|curve| is(oid, curve)));
    let sec1 = curve.and_then(|curve| with_curve(private_key, curve));
    sec1.map_or_else(unchanged, |sec1| encode("EC PRIVATE KEY", &sec1))
}

/// Returns a SEC 1 `ECPrivateKey` (RFC 5915) that names its curve, which it need not do inside of PKCS #8.
fn with_curve(key: &[u8], curve: &[u8]) -> Option<Vec<u8>> {
    let (0x30, content, _) = element(key)? else { return None };
    let (0x02, _, after_version) = element(content)? else { return None };
    let (0x04, _, rest) = element(after_version)? else { return None };
    if rest.first() == Some(&CURVE_TAG) {
        return Some(key.to_vec());
    }
    let before = content.get(..content.len() - rest.len())?;
    Some(tagged(0x30, &[before, &tagged(CURVE_TAG, curve), rest].concat()))
}

/// The tag of the curve in an `ECPrivateKey`.
const CURVE_TAG: u8 = 0xa0;

/// Splits DER into the tag and the content of its first element, and the rest.
pub(crate) fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..0x80 => (usize::from(*first), rest),
        _ => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = bytes.iter().try_fold(0usize, |length, byte| {
                length.checked_mul(256).map(|length| length | usize::from(*byte))
            })?;
            (length, rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// Encodes DER as a block of PEM.
pub(crate) fn encode(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(PEM_LINE));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem.push_str(&format!("-----END {label}-----\n"));
    pem
}

/// Length of a line in PEM.
const PEM_LINE: usize = 64;
