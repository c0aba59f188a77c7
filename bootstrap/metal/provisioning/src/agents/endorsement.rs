//! Challenges for TPMs, which only the TPM with the endorsement key can open (TCG, TPM 2.0 Library, Part 1, §24 and Annex C).

use aes::Aes128;
use aes::cipher::KeyIvInit as _;
use agent::tpm::{Binding, EndorsementKey, Message};
use agent_protocol::{Challenge, Endorsement, from_hexadecimal, hexadecimal};
use machinery::random::Random;
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::digest::{self, SHA256};
use ring::{hmac, rand::SystemRandom};

use super::refusal::Refusal;
use crate::fingerprint::fingerprint;

/// Makes challenges and recognises their secrets without storing any: a secret is an HMAC over the certificate and the endorsement key
/// of the challenge.
pub struct Endorsements(hmac::Key);

impl Endorsements {
    /// Generates a random HMAC key, so challenges that another process made are not recognised.
    pub fn new(random: &Random) -> Self {
        let mut key = [0; 32];
        random.fill(&mut key);
        Self(hmac::Key::new(hmac::HMAC_SHA256, &key))
    }

    /// Returns a challenge for the TPM with this endorsement key and for the certificate (SHA-256, hexadecimal) of the machine that
    /// asks.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] if the endorsement key is invalid.
    pub fn challenge(&self, certificate: &str, endorsement: &Endorsement) -> Result<Challenge, Refusal> {
        let key = read(endorsement)?;
        let sum = from_hexadecimal(certificate).and_then(|sum| <[u8; 32]>::try_from(sum).ok());
        let name = Binding::new(sum.ok_or_else(|| malformed("the certificate has no checksum"))?).name();
        let secret = self.secret(certificate, &key);
        let (credential, seed) =
            seal(&key, &name, secret.as_ref()).ok_or_else(|| malformed("it is no point of the curve"))?;
        Ok(Challenge { credential: hexadecimal(&credential), secret: hexadecimal(&seed) })
    }

    /// Returns the checksum of the endorsement key if the machine with this certificate has opened the challenge for that key.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] if the key is invalid; [`Refusal::Endorsement`] if the proof is not the secret of the challenge.
    pub fn proven(&self, certificate: &str, endorsement: &Endorsement) -> Result<String, Refusal> {
        let key = read(endorsement)?;
        let shown = from_hexadecimal(&endorsement.proof).unwrap_or_default();
        let text = text(certificate, &key);
        hmac::verify(&self.0, &text, &shown).map_err(|_| {
            Refusal::Endorsement(
                "the machine has not opened the challenge for its TPM: it is to ask for another one".into(),
            )
        })?;
        Ok(fingerprint(&key.public()))
    }

    /// Returns the secret that a challenge for this key contains.
    pub fn secret(&self, certificate: &str, key: &EndorsementKey) -> hmac::Tag {
        hmac::sign(&self.0, &text(certificate, key))
    }
}

fn text(certificate: &str, key: &EndorsementKey) -> Vec<u8> {
    [certificate.as_bytes(), b"/", &key.public()].concat()
}

fn read(endorsement: &Endorsement) -> Result<EndorsementKey, Refusal> {
    let public = from_hexadecimal(&endorsement.key).ok_or_else(|| malformed("it is not hexadecimal"))?;
    EndorsementKey::read(&public).map_err(|error| malformed(&format!("{error:#}")))
}

fn malformed(why: &str) -> Refusal {
    Refusal::Malformed(format!("the endorsement key: {why}"))
}

/// `TPM2_MakeCredential`: encrypts `secret` so that only the TPM with `key` opens it, and only while an object of this `name` is
/// loaded. Returns the credential, and the encrypted seed (the ephemeral point) that its keys are derived from.
pub fn seal(key: &EndorsementKey, name: &[u8], secret: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).ok()?;
    let point = own.compute_public_key().ok()?;
    let (x, y) = (point.as_ref().get(1..33)?, point.as_ref().get(33..65)?);
    let theirs = UnparsedPublicKey::new(&ECDH_P256, key.point());
    let seed = agree_ephemeral(own, &theirs, |shared| seed(shared, x, key.x())).ok()?;
    Some((wrapped(&seed, name, secret), Message::default().sized(x).sized(y).into_bytes()))
}

/// `KDFe` with the label `IDENTITY`.
pub fn seed(shared: &[u8], own_x: &[u8], their_x: &[u8]) -> digest::Digest {
    digest::digest(&SHA256, &[&1u32.to_be_bytes(), shared, b"IDENTITY\0", own_x, their_x].concat())
}

/// Encrypts the secret for the object, and prepends an HMAC over the encrypted secret and the name.
pub fn wrapped(seed: &digest::Digest, name: &[u8], secret: &[u8]) -> Vec<u8> {
    let storage = derived(seed, b"STORAGE\0", name, 128);
    let mut encryption = [0; 16];
    encryption.copy_from_slice(&storage.as_ref()[..16]);
    let mut identity = Message::default().sized(secret).into_bytes();
    cfb_mode::Encryptor::<Aes128>::new(&encryption.into(), &[0; 16].into()).encrypt(&mut identity);
    let integrity = derived(seed, b"INTEGRITY\0", &[], 256);
    let code =
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, integrity.as_ref()), &[&identity, name].concat());
    Message::default().sized(code.as_ref()).bytes(&identity).into_bytes()
}

/// `KDFa`. One block is enough; the caller uses the first `bits` of it.
pub fn derived(seed: &digest::Digest, label: &[u8], context: &[u8], bits: u32) -> hmac::Tag {
    let key = hmac::Key::new(hmac::HMAC_SHA256, seed.as_ref());
    hmac::sign(&key, &[&1u32.to_be_bytes(), label, context, &bits.to_be_bytes()].concat())
}
