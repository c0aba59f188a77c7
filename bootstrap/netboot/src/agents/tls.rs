//! TLS of the server: agents show certificates that they made themselves.

use std::sync::Arc;

use pki::Identity;
use pki::tls::ServerCertificates;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};

/// TLS that shows `identity` and asks clients for certificates, of any issuer: what is verified is that the client has the key. Who it
/// is is known by the certificate's checksum. Clients without one are let in, too: they cannot speak as agents.
///
/// # Errors
/// The identity cannot be used.
pub fn server_config(identity: &Identity) -> Result<ServerConfig, pki::Error> {
    let certificates = Arc::new(ServerCertificates::new(identity)?);
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| pki::Error::Tls(error.to_string()))?
        .with_client_cert_verifier(Arc::new(AnyIssuer(provider)))
        .with_cert_resolver(certificates);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[derive(Debug)]
struct AnyIssuer(Arc<CryptoProvider>);

impl ClientCertVerifier for AnyIssuer {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use machinery::clock::Clock;
    use machinery::random::Random;
    use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;
    use crate::http::listener::fingerprint;

    /// The checksum of the certificate that the server sees of a client with `identity`.
    async fn seen(authority: &CertificateAuthority, identity: Option<&Identity>) -> Option<String> {
        let (clock, random) = (Clock::system(), Random::system());
        let server =
            authority.issue(&Leaf::server("server", vec!["127.0.0.1".into()]), clock.now(), &random).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(server_config(&server).unwrap()));
        let trusted = authority.identity().certificate;
        let client = pki::tls::client_config(&trusted, identity, &["http/1.1"], &clock).unwrap();
        let (near, far) = tokio::io::duplex(1 << 16);
        let name = "127.0.0.1".try_into().unwrap();
        let (accepted, connected) =
            tokio::join!(acceptor.accept(near), TlsConnector::from(Arc::new(client)).connect(name, far));
        connected.unwrap();
        let chain = accepted.unwrap().get_ref().1.peer_certificates().map(<[_]>::to_vec);
        chain.and_then(|chain| chain.first().map(|first| fingerprint(first)))
    }

    #[tokio::test]
    async fn certificates_of_any_issuer_are_seen() {
        let (clock, random) = (Clock::system(), Random::system());
        let authority = |name| {
            CertificateAuthority::generate(name, KeyAlgorithm::default(), None, clock.now(), &random).unwrap()
        };
        let (ours, theirs) = (authority("ours"), authority("theirs"));
        let identity = theirs.issue(&Leaf::client("agent", &[]), clock.now(), &random).unwrap();
        let certificate = pki::certificates(&identity.certificate).unwrap();
        assert_eq!(seen(&ours, Some(&identity)).await, Some(fingerprint(&certificate[0])));
        assert_eq!(seen(&ours, None).await, None);
    }
}
