//! Tests of `ipmi::cipher`.

use bmc::ipmi::cipher::{BLOCK, Keys, Suite};

#[test]
fn what_is_encrypted_comes_back() {
    let keys = Keys::derive(Suite::Sha1, b"integrity");
    for length in 0..64 {
        let message: Vec<u8> = (0..length).collect();
        let encrypted = keys.encrypt(&message, [7; BLOCK]);
        assert!(encrypted.len().is_multiple_of(BLOCK) && encrypted.len() > message.len() + BLOCK);
        assert_eq!(keys.decrypt(&encrypted), Some(message));
        assert_eq!(keys.decrypt(&encrypted[..encrypted.len() - 1]), None);
    }
    assert_eq!(keys.decrypt(&[0; BLOCK]), None);
}

#[test]
fn signatures() {
    for suite in [Suite::Sha1, Suite::Sha256] {
        let keys = Keys::derive(suite, b"integrity");
        let signature = keys.signature(b"data");
        assert_eq!(signature.len(), suite.signature_length());
        assert!(keys.verify(b"data", &signature));
        assert!(!keys.verify(b"date", &signature));
        assert!(!keys.verify(b"data", b""));
    }
}
