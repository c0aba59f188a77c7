//! Keys that sign and verify tokens (RFC 7515, 7517, 7518).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use machinery::random::Random;
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::error::Error;
use crate::key::{KeyAlgorithm, PrivateKey};
use crate::pem;

/// The signature algorithm of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenAlgorithm {
    /// ECDSA over P-256.
    Es256,
    /// ECDSA over P-384.
    Es384,
    /// RSA with PKCS #1 padding and SHA-256.
    Rs256,
}

impl TokenAlgorithm {
    /// Returns the name in a token's header (`alg`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
        }
    }
}

/// A public key that verifies tokens.
#[derive(Clone)]
pub struct VerifyingKey {
    id: String,
    algorithm: TokenAlgorithm,
    der: Vec<u8>,
    /// The key in ring's format: the point of an elliptic curve, or a PKCS #1 `RSAPublicKey`.
    raw: Vec<u8>,
    jwk: Value,
}

impl std::fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VerifyingKey({} {})", self.algorithm.name(), self.id)
    }
}

impl VerifyingKey {
    /// Reads the key of the first `CERTIFICATE` in `text`, or else its first `PUBLIC KEY`.
    ///
    /// # Errors
    /// [`Error::Pem`] if there is no such block, [`Error::Key`] for an algorithm that tokens do not use.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_der(&pem::public_key(text)?)
    }

    /// Reads a `SubjectPublicKeyInfo`.
    ///
    /// # Errors
    /// [`Error::Key`] for an algorithm that tokens do not use.
    pub fn from_der(der: &[u8]) -> Result<Self, Error> {
        let unusable = || Error::Key("a token's key is RSA, ECDSA P-256 or P-384".to_owned());
        let (_, info) = SubjectPublicKeyInfo::from_der(der).map_err(|_| unusable())?;
        let raw = info.subject_public_key.data.to_vec();
        let id = URL_SAFE_NO_PAD.encode(Sha256::digest(der));
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let (algorithm, mut jwk) = match info.parsed().map_err(|_| unusable())? {
            PublicKey::RSA(key) => {
                let plain = |bytes: &[u8]| {
                    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
                    text(bytes.get(zeros..).unwrap_or_default())
                };
                let jwk = json!({"kty": "RSA", "n": plain(key.modulus), "e": plain(key.exponent)});
                (TokenAlgorithm::Rs256, jwk)
            }
            // The point is 0x04, followed by both coordinates.
            PublicKey::EC(point) => {
                let (algorithm, curve) = match point.data().len() {
                    65 => (TokenAlgorithm::Es256, "P-256"),
                    97 => (TokenAlgorithm::Es384, "P-384"),
                    _ => return Err(unusable()),
                };
                let coordinates = point.data().get(1..).unwrap_or_default();
                let (x, y) = coordinates.split_at(coordinates.len() / 2);
                (algorithm, json!({"kty": "EC", "crv": curve, "x": text(x), "y": text(y)}))
            }
            _ => return Err(unusable()),
        };
        jwk["use"] = "sig".into();
        jwk["alg"] = algorithm.name().into();
        jwk["kid"] = id.as_str().into();
        Ok(Self { id, algorithm, der: der.to_vec(), raw, jwk })
    }

    /// Returns the key's ID (`kid`): the SHA-256 of its DER, as kube-apiserver derives it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the signature algorithm of this key.
    pub fn algorithm(&self) -> TokenAlgorithm {
        self.algorithm
    }

    /// Returns the DER `SubjectPublicKeyInfo`.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Returns the key as a JSON Web Key.
    pub fn jwk(&self) -> &Value {
        &self.jwk
    }

    /// Returns whether `signature` is a signature of `message` by this key.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let algorithm: &dyn signature::VerificationAlgorithm = match self.algorithm {
            TokenAlgorithm::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
            TokenAlgorithm::Es384 => &signature::ECDSA_P384_SHA384_FIXED,
            TokenAlgorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        };
        UnparsedPublicKey::new(algorithm, &self.raw).verify(message, signature).is_ok()
    }
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

/// A private key that signs tokens.
pub struct SigningKey {
    pair: Pair,
    public: VerifyingKey,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({})", self.public.id)
    }
}

impl SigningKey {
    /// Reads a private key: RSA, ECDSA P-256 or P-384.
    ///
    /// # Errors
    /// The errors of [`PrivateKey::from_pem`].
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        let public = VerifyingKey::from_der(&PrivateKey::from_pem(text)?.public_key_der())?;
        let der = pem::private_key_as_pkcs8(text)?;
        // Neither ring's error nor this one contains key material.
        let refused = |_| Error::Key("the private key cannot sign tokens".to_owned());
        let ecdsa = |algorithm| {
            EcdsaKeyPair::from_pkcs8(algorithm, &der, &SystemRandom::new()).map(Pair::Ecdsa).map_err(refused)
        };
        let pair = match public.algorithm {
            TokenAlgorithm::Es256 => ecdsa(&signature::ECDSA_P256_SHA256_FIXED_SIGNING)?,
            TokenAlgorithm::Es384 => ecdsa(&signature::ECDSA_P384_SHA384_FIXED_SIGNING)?,
            TokenAlgorithm::Rs256 => Pair::Rsa(RsaKeyPair::from_pkcs8(&der).map_err(refused)?),
        };
        Ok(Self { pair, public })
    }

    /// Returns the public key.
    pub fn public(&self) -> &VerifyingKey {
        &self.public
    }

    /// Signs `message`.
    ///
    /// # Errors
    /// [`Error::Key`] if the source of randomness fails.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let failed = |_| Error::Key("signing a token failed".to_owned());
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ecdsa(key) => {
                key.sign(&random, message).map(|signature| signature.as_ref().to_vec()).map_err(failed)
            }
            Pair::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&signature::RSA_PKCS1_SHA256, &random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }
}

/// The token keys of a server: one signs, all verify.
#[derive(Debug)]
pub struct TokenKeys {
    signing: SigningKey,
    verifying: Vec<VerifyingKey>,
}

impl TokenKeys {
    /// Signs with `signing`; tokens signed with one of `earlier` are still accepted.
    pub fn new(signing: SigningKey, earlier: impl IntoIterator<Item = VerifyingKey>) -> Self {
        let mut verifying = vec![signing.public.clone()];
        verifying.extend(earlier.into_iter().filter(|key| key.id != signing.public.id));
        Self { signing, verifying }
    }

    /// Generates a new key, for servers that do not store one.
    ///
    /// # Errors
    /// [`Error::Generate`] if the source of randomness fails.
    pub fn generate(random: &Random) -> Result<Self, Error> {
        let key = PrivateKey::generate(KeyAlgorithm::EcdsaP256, random)?;
        Ok(Self::new(SigningKey::from_pem(&key.to_pem())?, []))
    }

    /// Returns the signing key.
    pub fn signing(&self) -> &SigningKey {
        &self.signing
    }

    /// Returns the verifying keys; the signing key's comes first.
    pub fn verifying(&self) -> &[VerifyingKey] {
        &self.verifying
    }
}
