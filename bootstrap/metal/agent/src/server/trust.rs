//! The certificate authorities that the agent trusts, and its own certificate.

use std::sync::Arc;

use ::ring::digest::{SHA256, digest};
use anyhow::{Context, Result};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};

/// The certificate of this machine. The machine makes it and keeps it in memory only; the server pins it at the first contact.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Identity {
    /// Makes a new key and certificate.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn make() -> Result<Self> {
        let key = KeyPair::generate().context("cannot make a key")?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "firstlight agent");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.self_signed(&key).context("cannot make a certificate")?;
        Ok(Self {
            certificate: certificate.der().clone(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()),
        })
    }
}

impl Identity {
    /// Returns the SHA-256 checksum of the certificate.
    pub fn sha256(&self) -> [u8; 32] {
        let mut sum = [0; 32];
        sum.copy_from_slice(digest(&SHA256, &self.certificate).as_ref());
        sum
    }
}

/// Returns the certificates of a PEM text.
///
/// # Errors
/// The text contains no certificate, or an invalid one.
pub fn authorities(pem: &str) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots
            .add(certificate.context("the certificate authority is no PEM")?)
            .context("the certificate authority is no certificate")?;
    }
    anyhow::ensure!(
        !roots.is_empty(),
        "there is no certificate authority: pack the initramfs with the server's"
    );
    Ok(roots)
}

/// Returns the TLS configuration for the server: its certificate is verified against `roots` only, and this machine shows `identity`.
///
/// # Errors
/// The certificates cannot be used.
pub fn client_config(roots: RootCertStore, identity: &Identity) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let verifier = AnyTime::new(roots, provider.clone())?;
    let key = PrivateKeyDer::Pkcs8(identity.key.clone_key());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_client_auth_cert(vec![identity.certificate.clone()], key)
        .context("the machine's certificate cannot be used")
}

/// Returns the TLS configuration for image servers, without a client certificate.
///
/// # Errors
/// The certificates cannot be used.
pub fn image_client_config(roots: RootCertStore) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let verifier = AnyTime::new(roots, provider.clone())?;
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// Verifies like webpki, but accepts certificates that are not valid yet, by verifying at the time at which they become valid. The
/// clock of a machine with an empty battery may be years behind, and the machine could never be installed. Expired certificates are
/// refused.
#[derive(Debug)]
pub struct AnyTime(Arc<WebPkiServerVerifier>);

impl AnyTime {
    /// Trusts these authorities.
    ///
    /// # Errors
    /// There is none that can be used.
    pub fn new(roots: RootCertStore, provider: Arc<CryptoProvider>) -> Result<Self> {
        let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        Ok(Self(built.context("the certificate authority cannot be used")?))
    }
}

impl ServerCertVerifier for AnyTime {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let mut time = now;
        // Each certificate of the chain may advance the time once.
        for _ in 0..=intermediates.len() + 1 {
            match self.0.verify_server_cert(end_entity, intermediates, name, ocsp, time) {
                Err(Error::InvalidCertificate(CertificateError::NotValidYetContext {
                    not_before, ..
                })) if not_before > time => time = not_before,
                done => return done,
            }
        }
        self.0.verify_server_cert(end_entity, intermediates, name, ocsp, time)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
