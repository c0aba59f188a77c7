//! Certificate authorities, certificates, kubeconfigs, TLS settings, and the keys of tokens.
//!
//! Time and randomness are passed in. Serial numbers and RSA keys are drawn from [`machinery::random::Random`]; ECDSA keys come
//! from ring, which reads only the operating system. No private key appears in a `Debug` output or an error.

mod authority;
mod error;
mod inspect;
mod key;
pub mod kubeconfig;
mod pem;
mod rsa;
mod signing;
pub mod tls;

pub use authority::{CertificateAuthority, Identity, Leaf, Usage};
pub use error::Error;
pub use inspect::{Facts, discovery_hash, inspect, inspect_der, renewal_due};
pub use key::{KeyAlgorithm, PrivateKey};
pub use pem::{certificates, public_key};
pub use signing::{SigningKey, TokenAlgorithm, TokenKeys, VerifyingKey};

/// Validity of a certificate authority when nothing else is asked: ten years, as kubeadm has it.
pub const AUTHORITY_VALIDITY_DAYS: i64 = 3650;

/// Validity of every other certificate when nothing else is asked: one year.
pub const LEAF_VALIDITY_DAYS: i64 = 365;

/// How far before "now" a certificate becomes valid, so that hosts whose clocks lag accept it.
pub const BACKDATE_MINUTES: i64 = 5;
