//! Certificate authorities, certificates, kubeconfigs, TLS settings, and token keys.
//!
//! Time and randomness are passed in. Serial numbers and RSA keys come from [`machinery::random::Random`];
//! ECDSA keys come from ring, which always uses the operating system's randomness. No private key appears in
//! a `Debug` output or an error.

mod authority;
mod error;
mod inspect;
mod key;
pub mod kubeconfig;
mod pem;
mod request;
mod rsa;
mod signing;
pub mod tls;

pub use authority::{CertificateAuthority, Identity, Leaf, Usage};
pub use error::Error;
pub use inspect::{Facts, discovery_hash, inspect, inspect_der, renewal_due};
pub use key::{KeyAlgorithm, PrivateKey};
pub use pem::{certificates, public_key};
pub use request::{CertificateRequest, NameKind};
pub use signing::{SigningKey, TokenAlgorithm, TokenKeys, VerifyingKey};

/// Default validity of a certificate authority: ten years, as in kubeadm.
pub const AUTHORITY_VALIDITY_DAYS: i64 = 3650;

/// Default validity of all other certificates: one year.
pub const LEAF_VALIDITY_DAYS: i64 = 365;

/// Certificates are valid from this many minutes before their creation, so that hosts whose clocks are behind accept them.
pub const BACKDATE_MINUTES: i64 = 5;
