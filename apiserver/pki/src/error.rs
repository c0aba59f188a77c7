//! What can go wrong with certificates. Messages never contain key material.

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text holds no PEM block of the expected kind, or a damaged one.
    #[error("{what} is not valid PEM: {why}")]
    Pem {
        /// What was read.
        what: &'static str,
        /// Why it was refused.
        why: String,
    },
    /// The private key has a form or algorithm that can't be used.
    #[error("the private key can't be used: {0}")]
    Key(String),
    /// A key could not be generated.
    #[error("generating a {algorithm} key failed: {why}")]
    Generate {
        /// The algorithm that was asked for.
        algorithm: &'static str,
        /// Why it failed.
        why: String,
    },
    /// A certificate could not be issued.
    #[error("issuing the certificate for {name:?} failed: {why}")]
    Issue {
        /// The common name of the certificate.
        name: String,
        /// Why it failed.
        why: String,
    },
    /// A certificate could not be read.
    #[error("the certificate can't be read: {0}")]
    Certificate(String),
    /// The certificate and the private key don't belong together.
    #[error("the certificate of {name:?} and its private key do not belong together")]
    Mismatch {
        /// The common name of the certificate.
        name: String,
    },
    /// The name of an algorithm is not known.
    #[error("unknown key algorithm {0:?}: use RSA-2048, RSA-3072, RSA-4096, ECDSA-P256 or ECDSA-P384")]
    Algorithm(String),
    /// A kubeconfig could not be read.
    #[error("the kubeconfig can't be used: {0}")]
    Kubeconfig(String),
    /// TLS settings could not be built.
    #[error("TLS settings: {0}")]
    Tls(String),
}
