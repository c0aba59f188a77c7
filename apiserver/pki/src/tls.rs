//! TLS settings for servers and clients, based on ring and the given clock.

mod any_issuer;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use machinery::clock::Clock;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    Resumption, WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor, verify_server_name,
};
use rustls::crypto::CryptoProvider;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme,
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use self::any_issuer::AnyIssuer;
use crate::authority::Identity;
use crate::error::Error;
use crate::pem;

/// HTTP/2 and HTTP/1.1, in the server's order of preference.
pub const ALPN_HTTP: &[&str] = &["h2", "http/1.1"];

/// HTTP/2 only, for gRPC.
pub const ALPN_HTTP2: &[&str] = &["h2"];

/// Whether a server requests client certificates.
#[derive(Debug, Clone)]
pub enum ClientCertificates {
    /// Clients are not asked for a certificate.
    None,
    /// Certificates are optional; presented ones must be signed by one of these authorities (PEM, one or
    /// more).
    Optional(String),
    /// A certificate signed by one of these authorities is required.
    Required(String),
    /// Certificates are optional, and presented ones may have any issuer. Only possession of the private key
    /// is verified; the server must identify the client by the certificate itself.
    AnyIssuer,
}

/// Certificates by server name (SNI), with a default for all other names.
#[derive(Debug)]
pub struct ServerCertificates {
    default: Arc<CertifiedKey>,
    by_name: BTreeMap<String, Arc<CertifiedKey>>,
}

impl ServerCertificates {
    /// Uses the same certificate for every server name.
    ///
    /// # Errors
    /// The errors of [`certified_key`].
    pub fn new(default: &Identity) -> Result<Self, Error> {
        Ok(Self { default: certified_key(default)?, by_name: BTreeMap::new() })
    }

    /// Uses another certificate for clients that ask for `name`.
    ///
    /// # Errors
    /// The errors of [`certified_key`].
    pub fn with(mut self, name: impl Into<String>, identity: &Identity) -> Result<Self, Error> {
        self.by_name.insert(name.into(), certified_key(identity)?);
        Ok(self)
    }
}

impl ResolvesServerCert for ServerCertificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = hello.server_name().and_then(|name| self.by_name.get(name));
        Some(named.unwrap_or(&self.default).clone())
    }
}

/// Returns a certificate with its key in rustls' form, for custom implementations of `ResolvesServerCert`.
///
/// # Errors
/// [`Error::Pem`], [`Error::Key`]; [`Error::Tls`] if certificate and key do not match.
pub fn certified_key(identity: &Identity) -> Result<Arc<CertifiedKey>, Error> {
    let chain = pem::certificates(&identity.certificate)?;
    let key = pem::private_key(&identity.key)?;
    let key = CertifiedKey::from_der(chain, key, &provider()).map_err(refused)?;
    Ok(Arc::new(key))
}

/// Returns the settings of a server with TLS 1.3 and 1.2, these certificates, client authentication and
/// protocols.
///
/// # Errors
/// [`Error::Pem`], [`Error::Tls`].
pub fn server_config(
    certificates: Arc<dyn ResolvesServerCert>,
    clients: &ClientCertificates,
    alpn: &[&str],
    clock: &Clock,
) -> Result<ServerConfig, Error> {
    let provider = provider();
    let verifier = client_verifier(clients, &provider)?;
    let mut config = ServerConfig::builder_with_details(provider, Arc::new(ClockTime(clock.clone())))
        .with_safe_default_protocol_versions()
        .map_err(refused)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(certificates);
    config.alpn_protocols = protocols(alpn);
    Ok(config)
}

fn client_verifier(
    clients: &ClientCertificates,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, Error> {
    let (authorities, optional) = match clients {
        ClientCertificates::None => return Ok(WebPkiClientVerifier::no_client_auth()),
        ClientCertificates::Optional(authorities) => (authorities, true),
        ClientCertificates::Required(authorities) => (authorities, false),
        ClientCertificates::AnyIssuer => return Ok(Arc::new(AnyIssuer(provider.clone()))),
    };
    let roots = Arc::new(roots(authorities)?);
    let builder = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
    let builder = if optional { builder.allow_unauthenticated() } else { builder };
    builder.build().map_err(|error| Error::Tls(error.to_string()))
}

/// Returns the settings of a client that trusts `authorities` (PEM, one or more) and presents `identity` if
/// the server requests it.
///
/// # Errors
/// [`Error::Pem`], [`Error::Tls`].
pub fn client_config(
    authorities: &str,
    identity: Option<&Identity>,
    alpn: &[&str],
    clock: &Clock,
) -> Result<ClientConfig, Error> {
    let builder = ClientConfig::builder_with_details(provider(), Arc::new(ClockTime(clock.clone())))
        .with_safe_default_protocol_versions()
        .map_err(refused)?
        .with_root_certificates(roots(authorities)?);
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => builder
            .with_client_auth_cert(
                pem::certificates(&identity.certificate)?,
                pem::private_key(&identity.key)?,
            )
            .map_err(refused)?,
    };
    Ok(for_client(config, alpn))
}

/// Completes the settings of a client.
fn for_client(mut config: ClientConfig, alpn: &[&str]) -> ClientConfig {
    config.alpn_protocols = protocols(alpn);
    // A resumed session would not verify the server's certificate, which may have expired.
    config.resumption = Resumption::disabled();
    config
}

/// Returns the settings of a client that trusts `roots`. As in Go, a server may also present one of the roots
/// as its own certificate.
///
/// # Errors
/// [`Error::Tls`].
pub fn client_config_for_roots(
    roots: &[CertificateDer<'static>],
    alpn: &[&str],
    clock: &Clock,
) -> Result<ClientConfig, Error> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(roots.iter().cloned());
    let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider())
        .build()
        .map_err(|error| Error::Tls(error.to_string()))?;
    let verifier = ChainOrRoot { chain, roots: roots.to_vec() };
    let config = ClientConfig::builder_with_details(provider(), Arc::new(ClockTime(clock.clone())))
        .with_safe_default_protocol_versions()
        .map_err(refused)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(for_client(config, alpn))
}

/// Verifies a server's chain up to a root. A root itself needs no chain, but its name and validity are
/// checked.
#[derive(Debug)]
struct ChainOrRoot {
    chain: Arc<WebPkiServerVerifier>,
    roots: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for ChainOrRoot {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if !self.roots.contains(end_entity) {
            return self.chain.verify_server_cert(end_entity, intermediates, name, ocsp, now);
        }
        let facts = crate::inspect::inspect_der(end_entity)
            .map_err(|_| rustls::Error::InvalidCertificate(CertificateError::BadEncoding))?;
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        if now > facts.not_after.timestamp() {
            return Err(CertificateError::Expired.into());
        }
        if now < facts.not_before.timestamp() {
            return Err(CertificateError::NotValidYet.into());
        }
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chain.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chain.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

/// Returns the only crypto provider of this program.
fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: LazyLock<Arc<CryptoProvider>> =
        LazyLock::new(|| Arc::new(rustls::crypto::ring::default_provider()));
    PROVIDER.clone()
}

fn protocols(names: &[&str]) -> Vec<Vec<u8>> {
    names.iter().map(|name| name.as_bytes().to_vec()).collect()
}

fn roots(authorities: &str) -> Result<RootCertStore, Error> {
    let mut store = RootCertStore::empty();
    for certificate in pem::certificates(authorities)? {
        store.add(certificate).map_err(refused)?;
    }
    Ok(store)
}

fn refused(error: rustls::Error) -> Error {
    Error::Tls(error.to_string())
}

/// Adapts [`Clock`] for rustls, so that a simulation checks validity by its own time.
#[derive(Clone)]
struct ClockTime(Clock);

impl std::fmt::Debug for ClockTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClockTime")
    }
}

impl TimeProvider for ClockTime {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0.now().timestamp()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

/// Like [`client_config`], for servers whose certificates lack the name they are called by: chain, validity
/// and purpose are verified, the name is not. The name is still sent as SNI.
///
/// # Errors
/// The errors of [`client_config`].
pub fn client_config_for_any_name(
    authorities: &str,
    identity: Option<&Identity>,
    alpn: &[&str],
    clock: &Clock,
) -> Result<ClientConfig, Error> {
    let mut config = client_config(authorities, identity, alpn, clock)?;
    let verifier = AnyName { roots: roots(authorities)?, provider: provider() };
    config.dangerous().set_certificate_verifier(Arc::new(verifier));
    Ok(config)
}

/// Verifies everything about a server's certificate except its name.
#[derive(Debug)]
struct AnyName {
    roots: RootCertStore,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&certificate, &self.roots, intermediates, now, algorithms)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Returns the settings of a client that accepts every certificate, for servers whose identity nobody can know.
///
/// # Errors
/// TLS cannot be used.
pub fn client_config_for_anyone() -> Result<ClientConfig, Error> {
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(refused)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone))
        .with_no_client_auth())
}

/// Accepts every certificate. Signatures are not verified either: some servers have keys that are too short for that, and a signature by an
/// unknown key proves nothing.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
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
        provider().signature_verification_algorithms.supported_schemes()
    }
}
