//! The certificate authority that agents trust: one of its own, so that nothing that a machine is given opens the API.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use machinery::clock::Clock;
use machinery::random::Random;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};

use crate::certificates::{begun, read_identity, write_identity};
use crate::directory::DataDirectory;

/// Name of its files.
const FILES: &str = "netboot-ca";

/// The authority; its key stays in the data directory.
pub(super) struct Authority(CertificateAuthority);

impl Authority {
    /// Reads it; makes it at the first start.
    pub(super) fn load_or_create(directory: &DataDirectory, clock: &Clock, random: &Random) -> Result<Self> {
        let folder = directory.pki();
        if let Some(found) = read_identity(&folder, FILES)? {
            let damaged = || {
                format!(
                    "the certificate authority {FILES} in {} is damaged: remove it, and start hosts anew",
                    folder.display()
                )
            };
            let read =
                CertificateAuthority::from_pem(&found.certificate, &found.key).with_context(damaged)?;
            return Ok(Self(begun(read, &folder, FILES, clock)?));
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

    /// Its certificate, PEM.
    pub(super) fn certificate(&self) -> &str {
        self.0.certificate()
    }

    /// Settings of the listener that agents speak to. Its certificate is as old as the process.
    pub(super) fn server_config(
        &self,
        addresses: &[Ipv4Addr],
        clock: &Clock,
        random: &Random,
    ) -> Result<rustls::ServerConfig> {
        let names = addresses.iter().map(Ipv4Addr::to_string).collect();
        let identity = self.0.issue(&Leaf::server("firstlight-netboot", names), clock.now(), random)?;
        // Agents show certificates that they made themselves.
        let (certificates, clients) =
            (Arc::new(ServerCertificates::new(&identity)?), ClientCertificates::AnyIssuer);
        Ok(server_config(certificates, &clients, &["http/1.1"], clock)?)
    }
}
