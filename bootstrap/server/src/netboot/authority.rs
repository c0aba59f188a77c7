//! The certificate authority that agents trust. It is separate from the API's, so that no certificate given to a machine grants access
//! to the API.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use bundle::Digest;
use machinery::clock::Clock;
use machinery::random::Random;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::certificates::{begun, read_identity, write_identity};
use crate::data_directory::DataDirectory;

/// The base name of its files.
pub const FILES: &str = "netboot-ca";

/// The authority. Its key stays in the data directory.
pub(super) struct Authority(CertificateAuthority);

impl Authority {
    /// Reads the authority, or creates it at the first start.
    pub(super) fn load_or_create(directory: &DataDirectory, clock: &Clock, random: &Random) -> Result<Self> {
        let folder = directory.pki();
        if let Some(found) = Self::read(&folder, clock)? {
            return Ok(found);
        }
        let made = CertificateAuthority::generate(
            "firstlight-netboot-ca",
            KeyAlgorithm::default(),
            None,
            clock.now(),
            random,
        )?;
        write_identity(&folder, FILES, &made.identity())?;
        Ok(Self(made))
    }

    /// Reads the authority from `folder`.
    ///
    /// # Errors
    /// It is not there, or damaged.
    pub(super) fn load(folder: &Path, clock: &Clock) -> Result<Self> {
        let missing = || format!("{0}.crt and {0}.key are not in {1}", FILES, folder.display());
        Self::read(folder, clock)?.with_context(missing)
    }

    fn read(folder: &Path, clock: &Clock) -> Result<Option<Self>> {
        let Some(found) = read_identity(folder, FILES)? else { return Ok(None) };
        let damaged = || {
            format!(
                "the certificate authority {FILES} in {} is damaged: remove it, and start hosts anew",
                folder.display()
            )
        };
        let read = CertificateAuthority::from_pem(&found.certificate, &found.key).with_context(damaged)?;
        Ok(Some(Self(begun(read, folder, FILES, clock)?)))
    }

    /// Returns the password for the files of bundles. Every process with the key of this authority knows it: the server that has the
    /// bundles, and the one that takes over from it.
    pub(super) fn bundles_token(&self) -> String {
        Digest::of(format!("firstlight bundles\0{}", self.0.identity().key).as_bytes()).hex()
    }

    /// Returns the certificate of the authority, PEM.
    pub(super) fn certificate(&self) -> &str {
        self.0.certificate()
    }

    /// Returns the certificate of the authority, DER.
    ///
    /// # Errors
    /// The certificate is no PEM.
    pub(super) fn certificate_der(&self) -> Result<Vec<u8>> {
        Ok(CertificateDer::from_pem_slice(self.certificate().as_bytes())?.to_vec())
    }

    /// Returns the TLS configuration of the listener for agents. Its certificate is issued at each start of the process.
    pub(super) fn server_config(
        &self,
        addresses: &[Ipv4Addr],
        clock: &Clock,
        random: &Random,
    ) -> Result<rustls::ServerConfig> {
        let names = addresses.iter().map(Ipv4Addr::to_string).collect();
        let identity = self.0.issue(&Leaf::server("firstlight-netboot", names), clock.now(), random)?;
        // Agents have self-signed client certificates.
        let (certificates, clients) =
            (Arc::new(ServerCertificates::new(&identity)?), ClientCertificates::AnyIssuer);
        Ok(server_config(certificates, &clients, &["http/1.1"], clock)?)
    }
}
