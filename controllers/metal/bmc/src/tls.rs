//! The TLS configuration for controllers.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::{Error, Result, Verification};

/// Returns the TLS configuration for a controller.
///
/// # Errors
/// The machine has no certificate authorities, or a given one is invalid.
pub(crate) fn configuration(verification: &Verification) -> Result<Arc<ClientConfig>> {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Input(format!("TLS cannot be used: {error}")))?;
    let roots = match verification {
        Verification::Off => {
            let verifier = Arc::new(Anyone);
            return Ok(Arc::new(
                builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth(),
            ));
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

/// A verifier that accepts every certificate. Signatures are not verified either: some controllers have keys that are too short for
/// that, and a signature by an unknown key proves nothing.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}
