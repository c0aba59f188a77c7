//! Credentials for controllers, and how their certificates are verified.

use std::fmt;

use base64::Engine as _;
use rustls_pki_types::CertificateDer;

/// A user of a controller. `Debug` does not show the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user name.
    pub username: String,
    password: String,
}

impl Credentials {
    /// Returns credentials of a user with a password.
    pub fn new(username: impl Into<String>, password: impl Into<String>) -> Self {
        Self { username: username.into(), password: password.into() }
    }

    pub(crate) fn password(&self) -> &str {
        &self.password
    }

    /// Returns the value of the header `Authorization` (RFC 7617).
    pub(crate) fn basic(&self) -> String {
        let pair = format!("{}:{}", self.username, self.password);
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
    }

    /// Returns `text` with the password removed, in plain form and in the form of [`Self::basic`].
    pub fn redact(&self, text: &str) -> String {
        let basic = self.basic();
        let mut text = text.to_owned();
        for secret in [basic.trim_start_matches("Basic "), &self.password] {
            if !secret.is_empty() {
                text = text.replace(secret, "***");
            }
        }
        text
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("username", &self.username).finish_non_exhaustive()
    }
}

/// The verification of a controller's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// By the certificate authorities of this machine.
    Machine,
    /// By these certificate authorities only.
    Authorities(Vec<CertificateDer<'static>>),
    /// Not at all: any server that answers gets the password.
    Off,
}
