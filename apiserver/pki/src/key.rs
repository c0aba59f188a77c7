//! Private keys.

use std::str::FromStr;

use machinery::random::Random;
use rcgen::{KeyPair, PublicKeyData};

use crate::error::Error;
use crate::{pem, rsa};

/// The key algorithms that kubeadm's `encryptionAlgorithm` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum KeyAlgorithm {
    /// ECDSA over P-256; our default, since a key costs microseconds.
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
    /// The name in kubeadm's configuration.
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

/// A private key that can sign.
pub struct PrivateKey {
    pub(crate) pair: KeyPair,
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrivateKey(…)")
    }
}

impl PrivateKey {
    /// A new key. RSA keys take from a tenth of a second to seconds: call it from a blocking task.
    ///
    /// # Errors
    /// [`Error::Generate`] when the source of randomness fails.
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

    /// Reads the first private key in `text`: PKCS #8, PKCS #1 (`RSA PRIVATE KEY`) or SEC 1 (`EC PRIVATE KEY`).
    ///
    /// # Errors
    /// [`Error::Pem`] without such a block, [`Error::Key`] for an algorithm that can't sign here.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_pkcs8(&pem::private_key_as_pkcs8(text)?)
    }

    pub(crate) fn from_pkcs8(der: &[u8]) -> Result<Self, Error> {
        // The error of the parser is not passed on: it may quote what it read.
        let pair = KeyPair::try_from(der)
            .map_err(|_| Error::Key("not an RSA, ECDSA P-256, P-384 or Ed25519 key".to_owned()))?;
        Ok(Self { pair })
    }

    /// PKCS #8 as PEM (`PRIVATE KEY`). Secret.
    pub fn to_pem(&self) -> String {
        self.pair.serialize_pem()
    }

    /// The public half as PEM (`PUBLIC KEY`), as the service-account Secret has it in `tls.crt`.
    pub fn public_key_pem(&self) -> String {
        self.pair.public_key_pem()
    }

    /// The public half as DER `SubjectPublicKeyInfo`.
    pub fn public_key_der(&self) -> Vec<u8> {
        self.pair.subject_public_key_info()
    }
}
