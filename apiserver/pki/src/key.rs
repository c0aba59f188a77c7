//! Private keys.

use std::str::FromStr;

use machinery::random::Random;
use rcgen::{KeyPair, PublicKeyData};

use crate::error::Error;
use crate::{pem, rsa};

/// The key algorithms that kubeadm's `encryptionAlgorithm` supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum KeyAlgorithm {
    /// ECDSA over P-256; the default, since generating a key takes microseconds.
    #[default]
    EcdsaP256,
    /// ECDSA over P-384.
    EcdsaP384,
    /// RSA with 2048 bits.
    Rsa2048,
    /// RSA with 3072 bits.
    Rsa3072,
    /// RSA with 4096 bits.
    Rsa4096,
}

impl KeyAlgorithm {
    /// Returns whether it is RSA, whose keys take seconds to make.
    pub fn is_rsa(self) -> bool {
        matches!(self, Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096)
    }

    /// Returns the name in kubeadm's configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ECDSA-P256",
            Self::EcdsaP384 => "ECDSA-P384",
            Self::Rsa2048 => "RSA-2048",
            Self::Rsa3072 => "RSA-3072",
            Self::Rsa4096 => "RSA-4096",
        }
    }
}

impl FromStr for KeyAlgorithm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        [Self::EcdsaP256, Self::EcdsaP384, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096]
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or_else(|| Error::Algorithm(name.to_owned()))
    }
}

/// A private key for signing.
pub struct PrivateKey {
    pub(crate) pair: KeyPair,
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrivateKey(…)")
    }
}

impl PrivateKey {
    /// Generates a key. RSA keys take from a tenth of a second to seconds; call it from a blocking task for
    /// them.
    ///
    /// # Errors
    /// [`Error::Generate`] if the source of randomness fails.
    pub fn generate(algorithm: KeyAlgorithm, random: &Random) -> Result<Self, Error> {
        let failed = |why: String| Error::Generate { algorithm: algorithm.name(), why };
        let pair = match algorithm {
            KeyAlgorithm::EcdsaP256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
            KeyAlgorithm::EcdsaP384 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384),
            KeyAlgorithm::Rsa2048 => return rsa::generate(2048, random).map_err(failed),
            KeyAlgorithm::Rsa3072 => return rsa::generate(3072, random).map_err(failed),
            KeyAlgorithm::Rsa4096 => return rsa::generate(4096, random).map_err(failed),
        };
        Ok(Self { pair: pair.map_err(|error| failed(error.to_string()))? })
    }

    /// Parses the first private key in `text`: PKCS #8, PKCS #1 (`RSA PRIVATE KEY`) or SEC 1 (`EC PRIVATE
    /// KEY`).
    ///
    /// # Errors
    /// [`Error::Pem`] if there is no such block, [`Error::Key`] for an unsupported algorithm.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_pkcs8(&pem::private_key_as_pkcs8(text)?)
    }

    pub(crate) fn from_pkcs8(der: &[u8]) -> Result<Self, Error> {
        // The parser's error is not passed on, since it may quote the key.
        let pair = KeyPair::try_from(der)
            .map_err(|_| Error::Key("not an RSA, ECDSA P-256, P-384 or Ed25519 key".to_owned()))?;
        Ok(Self { pair })
    }

    /// Returns the key in PEM: as `EC PRIVATE KEY`, `RSA PRIVATE KEY`, or for other algorithms `PRIVATE KEY`; secret.
    pub fn to_pem(&self) -> String {
        pem::encode_private_key(&self.pair.serialize_der())
    }

    /// Returns the key as PKCS #8 in PEM (`PRIVATE KEY`), whatever its algorithm; secret.
    pub fn to_pkcs8_pem(&self) -> String {
        self.pair.serialize_pem()
    }

    /// Returns the public key in PEM (`PUBLIC KEY`), the form of `tls.crt` in the service account Secret.
    pub fn public_key_pem(&self) -> String {
        self.pair.public_key_pem()
    }

    /// Returns the public key as DER `SubjectPublicKeyInfo`.
    pub fn public_key_der(&self) -> Vec<u8> {
        self.pair.subject_public_key_info()
    }
}
