//! Errors about certificates and keys. Messages never contain key material.

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text has no PEM block of the expected kind, or a damaged one.
    #[error("{what} is not valid PEM: {why}")]
    Pem {
        /// The expected content.
        what: &'static str,
        /// The reason.
        why: String,
    },
    /// The private key has an unsupported format or algorithm.
    #[error("the private key can't be used: {0}")]
    Key(String),
    /// A key could not be generated.
    #[error("generating a {algorithm} key failed: {why}")]
    Generate {
        /// The requested algorithm.
        algorithm: &'static str,
        /// The reason.
        why: String,
    },
    /// A certificate could not be issued.
    #[error("issuing the certificate for {name:?} failed: {why}")]
    Issue {
        /// The common name of the certificate.
        name: String,
        /// The reason.
        why: String,
    },
    /// A certificate request cannot be used.
    #[error("the certificate request can't be used: {0}")]
    Request(String),
    /// A certificate could not be parsed.
    #[error("the certificate can't be read: {0}")]
    Certificate(String),
    /// The certificate and the private key do not match.
    #[error("the certificate of {name:?} and its private key do not belong together")]
    Mismatch {
        /// The common name of the certificate.
        name: String,
    },
    /// The name of an algorithm is unknown.
    #[error("unknown key algorithm {0:?}: use RSA-2048, RSA-3072, RSA-4096, ECDSA-P256 or ECDSA-P384")]
    Algorithm(String),
    /// A kubeconfig could not be parsed.
    #[error("the kubeconfig can't be used: {0}")]
    Kubeconfig(String),
    /// TLS settings could not be built.
    #[error("TLS settings: {0}")]
    Tls(String),
}
