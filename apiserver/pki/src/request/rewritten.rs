//! Puts the subject and the key of a request into a certificate as they are. rcgen can write neither two values of one attribute nor a key of
//! which it only has the DER.

use rcgen::{KeyPair, PublicKeyData, SignatureAlgorithm, SigningKey};

use crate::pem::{element, elements, tagged};

/// An empty DER `Name`.
pub(super) const NO_SUBJECT: [u8; 2] = [SEQUENCE, 0];

/// Tags of DER elements.
const BIT_STRING: u8 = 0x03;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

/// The place of the subject in a `TBSCertificate`, after version, serial number, signature algorithm, issuer and validity.
const SUBJECT: usize = 5;
/// The place of the key.
const PUBLIC_KEY: usize = 6;

/// The attributes below the object identifier 2.5.4 that Go's `pkix.Name` has: common name, serial number, country, locality, province,
/// street, organization, organizational unit and postal code.
const ATTRIBUTES: [u8; 9] = [3, 5, 6, 7, 8, 9, 10, 11, 17];

/// Returns a subject without the attributes that Kubernetes leaves out of certificates, such as the UID of a user, or `None` if it is
/// damaged.
pub(super) fn subject(der: &[u8]) -> Option<Vec<u8>> {
    let (_, content, _) = element(der)?;
    let mut names = Vec::new();
    for name in elements(content)? {
        let (_, content, _) = element(name)?;
        let mut attributes = elements(content)?;
        attributes.retain(|attribute| is_copied(attribute));
        if !attributes.is_empty() {
            names.push(tagged(SET, &attributes.concat()));
        }
    }
    Some(tagged(SEQUENCE, &names.concat()))
}

fn is_copied(attribute: &[u8]) -> bool {
    let kind = element(attribute).and_then(|(_, content, _)| element(content));
    matches!(kind, Some((OBJECT_IDENTIFIER, [0x55, 0x04, kind], _)) if ATTRIBUTES.contains(kind))
}

/// The key of a request, a DER `SubjectPublicKeyInfo`.
pub(super) struct RequestedKey<'r>(pub(super) &'r [u8]);

impl PublicKeyData for RequestedKey<'_> {
    /// The key identifier in the certificate is made of this.
    fn subject_public_key_info(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    /// rcgen writes a key of these bytes and the algorithm below, which [`signed`] replaces.
    fn der_bytes(&self) -> &[u8] {
        self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_ECDSA_P256_SHA256
    }
}

/// Returns a certificate with this subject and public key in place of its own, signed again with its issuer's key.
///
/// # Errors
/// The reason why it cannot be signed.
pub(super) fn signed(
    certificate: &[u8],
    subject: &[u8],
    public_key: &[u8],
    issuer: &KeyPair,
) -> Result<Vec<u8>, String> {
    let (content, algorithm) =
        replaced(certificate, subject, public_key).ok_or_else(|| "the draft is no certificate".to_owned())?;
    let signature = issuer.sign(&content).map_err(|error| error.to_string())?;
    // The first byte of a bit string is the number of unused bits at its end.
    let signature = tagged(BIT_STRING, &[&[0u8][..], &signature].concat());
    Ok(tagged(SEQUENCE, &[content.as_slice(), algorithm, &signature].concat()))
}

/// Returns the `TBSCertificate` with another subject and key, and the algorithm of its signature.
fn replaced<'c>(certificate: &'c [u8], subject: &[u8], public_key: &[u8]) -> Option<(Vec<u8>, &'c [u8])> {
    let (_, parts, _) = element(certificate)?;
    let [content, algorithm, _signature]: [&[u8]; 3] = elements(parts)?.try_into().ok()?;
    let (_, fields, _) = element(content)?;
    let mut fields = elements(fields)?;
    *fields.get_mut(SUBJECT)? = subject;
    *fields.get_mut(PUBLIC_KEY)? = public_key;
    Some((tagged(SEQUENCE, &fields.concat()), algorithm))
}
