//! Tests of `agents::endorsement`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use aes::Aes128;
use aes::cipher::KeyIvInit as _;
use agent::tpm::{Binding, EndorsementKey, Message};
use agent_protocol::{Endorsement, hexadecimal};
use machinery::random::Random;
use metal_provisioning::agents::endorsement::{Endorsements, derived, seal, seed, wrapped};
use metal_provisioning::agents::refusal::Refusal;
use metal_provisioning::fingerprint::fingerprint;
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, PublicKey};
use ring::hmac;
use ring::rand::SystemRandom;

/// Returns a valid point of the curve; its private key is discarded.
fn key() -> EndorsementKey {
    let random = SystemRandom::new();
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random).unwrap();
    let point: PublicKey = own.compute_public_key().unwrap();
    let template = EndorsementKey::template();
    let (x, y) = point.as_ref()[1..].split_at(32);
    let start = template.len() - 68;
    let public = Message::default().bytes(&template[..start]).sized(x).sized(y).into_bytes();
    EndorsementKey::read(&public).unwrap()
}

fn shown(key: &EndorsementKey, proof: &[u8]) -> Endorsement {
    Endorsement { key: hexadecimal(&key.public()), proof: hexadecimal(proof) }
}

#[test]
fn only_the_secret_of_this_certificate_and_key_is_a_proof() {
    let (one, other) = ("01".repeat(32), "02".repeat(32));
    let (server, restarted) = (Endorsements::new(&Random::seeded(1)), Endorsements::new(&Random::seeded(2)));
    let (own, stranger) = (key(), key());
    let secret = server.secret(&one, &own);
    let proof = shown(&own, secret.as_ref());
    assert_eq!(server.proven(&one, &proof), Ok(fingerprint(&own.public())));
    let refused = [
        server.proven(&other, &proof),
        server.proven(&one, &shown(&stranger, secret.as_ref())),
        server.proven(&one, &shown(&own, &[])),
        restarted.proven(&one, &proof),
    ];
    assert!(refused.iter().all(|refused| matches!(refused, Err(Refusal::Endorsement(_)))), "{refused:?}");
}

#[test]
fn keys_that_are_none_are_told() {
    let server = Endorsements::new(&Random::seeded(1));
    let certificate = "01".repeat(32);
    let nowhere = EndorsementKey::read(&EndorsementKey::template()).unwrap();
    for endorsement in [
        Endorsement::default(),
        Endorsement { key: "zz".into(), ..Endorsement::default() },
        shown(&nowhere, &[]),
    ] {
        let refused = server.challenge(&certificate, &endorsement);
        assert!(matches!(refused, Err(Refusal::Malformed(_))), "{refused:?}");
    }
}

/// Performs the reverse of each step, as a TPM does. The scenario `tpm` of the machine tests checks the challenge against real TPMs.
#[test]
fn a_credential_has_the_form_that_tpms_open() {
    let (name, secret) = (Binding::new([1; 32]).name(), [9; 32]);
    let seed = seed(&[1; 32], &[2; 32], &[3; 32]);
    let credential = wrapped(&seed, &name, &secret);
    let (length, rest) = credential.split_at(2);
    let (code, identity) = rest.split_at(32);
    assert_eq!(length, [0, 32]);
    let integrity = derived(&seed, b"INTEGRITY\0", &[], 256);
    let code_key = hmac::Key::new(hmac::HMAC_SHA256, integrity.as_ref());
    hmac::verify(&code_key, &[identity, &name].concat(), code).unwrap();
    let mut opened = identity.to_vec();
    let storage = derived(&seed, b"STORAGE\0", &name, 128);
    let encryption: [u8; 16] = storage.as_ref()[..16].try_into().unwrap();
    cfb_mode::Decryptor::<Aes128>::new(&encryption.into(), &[0; 16].into()).decrypt(&mut opened);
    assert_eq!(opened, [&[0, 32], secret.as_slice()].concat());
    assert_eq!(
        seal(&key(), &name, &secret).map(|(credential, seed)| (credential.len(), seed.len())),
        Some((68, 68))
    );
}
