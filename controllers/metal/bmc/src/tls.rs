//! The TLS configuration for controllers.

use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};

use crate::{Error, Result, Verification};

/// Returns the TLS configuration for a controller.
///
/// # Errors
/// The machine has no certificate authorities, or a given one is invalid.
pub(crate) fn configuration(verification: &Verification) -> Result<Arc<ClientConfig>> {
    let unusable = |error: &dyn std::fmt::Display| Error::Input(format!("TLS cannot be used: {error}"));
    let roots = match verification {
        Verification::Off => {
            return pki::tls::client_config_for_anyone().map(Arc::new).map_err(|error| unusable(&error));
        }
        Verification::Machine => machine_authorities()?,
        Verification::Authorities(certificates) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates {
                roots.add(certificate.clone()).map_err(|error| {
                    Error::Input(format!("an authority for controllers cannot be used: {error}"))
                })?;
            }
            roots
        }
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

fn machine_authorities() -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(Error::Input(
            "this machine has no certificate authorities (ca-certificates), so the certificate of a controller cannot be checked; install them, or set disableCertificateVerification on the host".to_owned(),
        ));
    }
    Ok(roots)
}
