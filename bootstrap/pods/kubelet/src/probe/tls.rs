//! TLS of probes: as a kubelet's, it does not verify who answers.

use std::sync::Arc;

use anyhow::{Context, Result};
use engine::network::BoxStream;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::TlsConnector;

/// Begins TLS on a connection.
///
/// # Errors
/// The other side does not speak TLS.
pub(super) async fn secured(stream: BoxStream, host: &str) -> Result<BoxStream> {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .context("TLS cannot be used")?;
    let verifier = Arc::new(Anyone);
    let config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).context("the host is no name")?;
    let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    Ok(Box::new(connected.context("no TLS")?))
}

/// A verifier that accepts every certificate.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}
