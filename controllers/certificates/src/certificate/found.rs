//! What of a certificate only the comparison with a specification asks for.

use pki::{KeyAlgorithm, Usage};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::public_key::PublicKey;

/// Key and purpose of a certificate; each is `None` if no certificate of this process is like that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub algorithm: Option<KeyAlgorithm>,
    pub usage: Option<Usage>,
}

impl Found {
    /// Reads the first certificate in `text` (PEM); `None` if it is damaged.
    pub fn read(text: &str) -> Option<Self> {
        let all = pki::certificates(text).ok()?;
        let (_, certificate) = X509Certificate::from_der(all.first()?).ok()?;
        let usage = certificate.extended_key_usage().ok()?.and_then(|extension| {
            match (extension.value.client_auth, extension.value.server_auth) {
                (true, true) => Some(Usage::ClientAndServer),
                (true, false) => Some(Usage::Client),
                (false, true) => Some(Usage::Server),
                (false, false) => None,
            }
        });
        Some(Self { algorithm: algorithm(&certificate), usage })
    }
}

fn algorithm(certificate: &X509Certificate<'_>) -> Option<KeyAlgorithm> {
    match certificate.public_key().parsed().ok()? {
        PublicKey::RSA(key) => match key.key_size() {
            2048 => Some(KeyAlgorithm::Rsa2048),
            3072 => Some(KeyAlgorithm::Rsa3072),
            4096 => Some(KeyAlgorithm::Rsa4096),
            _ => None,
        },
        PublicKey::EC(point) => match point.key_size() {
            256 => Some(KeyAlgorithm::EcdsaP256),
            384 => Some(KeyAlgorithm::EcdsaP384),
            _ => None,
        },
        _ => None,
    }
}
