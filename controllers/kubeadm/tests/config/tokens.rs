//! Bootstrap tokens.

use chrono::{DateTime, Duration};
use kubeadm::config::token::{LIFETIME, expiry, generate, is_refresh_due, secret, secret_name};
use machinery::random::Random;

#[test]
fn tokens_are_kubernetes_tokens() {
    let token = generate(&Random::seeded(1));
    assert_eq!(secret_name(&token), Some(format!("bootstrap-token-{}", &token[..6])));
    for bad in ["", "abcdef", "ABCDEF.0123456789abcdef", "abcde.0123456789abcdef", "abcdef.0123"] {
        assert_eq!(secret_name(bad), None, "{bad}");
    }
}

#[test]
fn refresh_after_a_sixth_of_the_life() {
    let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let secret = secret("abcdef.0123456789abcdef", now).unwrap();
    let expiry = expiry(&secret).unwrap();
    assert_eq!(expiry, now + LIFETIME);
    assert!(!is_refresh_due(expiry, now + Duration::seconds(149)));
    assert!(is_refresh_due(expiry, now + Duration::seconds(150)));
}
