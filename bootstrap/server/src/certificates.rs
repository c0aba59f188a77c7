//! The server's own certificates in its data directory: created at the first start, and renewed before they expire.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use access::certificate::Authorities;
use anyhow::{Context, Result};
use machinery::clock::Clock;
use machinery::random::Random;
use pki::kubeconfig::Kubeconfig;
use pki::tls::{ALPN_HTTP, ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, Identity, KeyAlgorithm, Leaf};

use crate::controllers::Selection;
use crate::data_directory::{DataDirectory, update_private, write_private};
use crate::plane::ControllerManager;
use crate::request_signer::RequestSigner;

/// The common name of the certificate authority.
const AUTHORITY: &str = "firstlight-ca";
/// The common name of the server's certificate.
const SERVER: &str = "firstlight-apiserver";

/// The interval at which the certificates are checked. They are valid for a year.
const CHECK_INTERVAL: Duration = Duration::from_secs(3600);

/// The administrator's group, which may do everything.
const ADMIN_GROUP: &str = "system:masters";

/// The certificates of the server and of its administrator, with their authority.
pub struct Certificates {
    folder: PathBuf,
    authority: Arc<CertificateAuthority>,
    /// The certificate of the server.
    pub server: Identity,
    /// The certificate of the administrator.
    pub admin: Identity,
    names: Vec<String>,
    clock: Clock,
    random: Random,
}

impl Certificates {
    /// Reads the certificates in `directory`, and creates those that are missing, due for renewal, or lack the name of `listen`.
    ///
    /// # Errors
    /// A file is damaged (the message names it, and it is left unchanged), or a write fails.
    pub fn load_or_create(
        directory: &DataDirectory,
        listen: SocketAddr,
        clock: &Clock,
        random: &Random,
    ) -> Result<Self> {
        let folder = directory.pki();
        let authority = match read_identity(&folder, "ca")? {
            Some(found) => {
                let damaged = || format!("the certificate authority in {} is damaged", folder.display());
                let read =
                    CertificateAuthority::from_pem(&found.certificate, &found.key).with_context(damaged)?;
                begun(read, &folder, "ca", clock).with_context(damaged)?
            }
            None => {
                let made = CertificateAuthority::generate(
                    AUTHORITY,
                    KeyAlgorithm::default(),
                    None,
                    clock.now(),
                    random,
                )?;
                write_identity(&folder, "ca", &made.identity())?;
                made
            }
        };
        let names = server_names(listen);
        let mut certificates = Self {
            server: authority.issue(&Leaf::server(SERVER, names.clone()), clock.now(), random)?,
            admin: authority.issue(&Leaf::client("firstlight-admin", &[ADMIN_GROUP]), clock.now(), random)?,
            folder,
            authority: Arc::new(authority),
            names,
            clock: clock.clone(),
            random: random.clone(),
        };
        certificates.adopt()?;
        Ok(certificates)
    }

    /// Uses the certificates on disk that are still good, and stores new ones for the others.
    fn adopt(&mut self) -> Result<()> {
        for (name, is_server) in [("server", true), ("admin", false)] {
            let found = read_identity(&self.folder, name)?;
            let (good, usable) = found.as_ref().map_or((false, false), |found| {
                (self.is_good(found, is_server), self.is_usable(found, is_server))
            });
            let slot = if is_server { &mut self.server } else { &mut self.admin };
            match found {
                Some(identity) if good => *slot = identity,
                found => {
                    tracing::info!(
                        certificate = name,
                        "creating a certificate, because it is missing or due for renewal"
                    );
                    match (write_identity(&self.folder, name, slot), found) {
                        (Ok(()), _) => {}
                        (Err(error), Some(identity)) if usable => {
                            tracing::warn!(
                                certificate = name,
                                "a new one cannot be kept, the old one is valid yet: {error:#}"
                            );
                            *slot = identity;
                        }
                        (Err(error), _) => return Err(error),
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns whether a certificate is currently valid, even if it is due for renewal.
    fn is_usable(&self, identity: &Identity, is_server: bool) -> bool {
        let now = self.clock.now();
        pki::inspect(&identity.certificate).is_ok_and(|facts| {
            let named = !is_server || self.names.iter().all(|name| facts.names.contains(name));
            named && facts.not_before <= now && now < facts.not_after
        })
    }

    /// Writes the administrator's kubeconfig if it differs from the existing one. If the write fails, an existing kubeconfig that still
    /// works with this server is enough.
    ///
    /// # Errors
    /// The write fails, and the existing kubeconfig does not work.
    pub fn write_kubeconfig(&self, path: &Path, address: SocketAddr, name: &str) -> Result<()> {
        let Err(error) = update_private(path, self.kubeconfig(address, name)?.as_bytes()) else {
            return Ok(());
        };
        let found = files::open(path).and_then(std::io::read_to_string).ok();
        let found = found.and_then(|text| Kubeconfig::parse(&text).ok());
        let opens = found.is_some_and(|found| {
            found.server == format!("https://{}", reachable(address))
                && found.authority == self.authority.certificate()
                && found.credentials.identity.is_some_and(|identity| self.is_usable(&identity, false))
        });
        if !opens {
            return Err(error);
        }
        tracing::warn!("cannot update the kubeconfig; the existing one is still valid: {error:#}");
        Ok(())
    }

    fn is_good(&self, identity: &Identity, is_server: bool) -> bool {
        pki::inspect(&identity.certificate).is_ok_and(|facts| {
            let named = !is_server || self.names.iter().all(|name| facts.names.contains(name));
            named && !pki::renewal_due(&facts, self.clock.now())
        })
    }

    /// Renews the certificates that are due; returns whether there were any.
    ///
    /// # Errors
    /// A write fails.
    pub fn renew(&mut self) -> Result<bool> {
        let (server_due, admin_due) = (!self.is_good(&self.server, true), !self.is_good(&self.admin, false));
        if server_due {
            let leaf = Leaf::server(SERVER, self.names.clone());
            self.server = self.authority.issue(&leaf, self.clock.now(), &self.random)?;
            write_identity(&self.folder, "server", &self.server)?;
        }
        if admin_due {
            let leaf = Leaf::client("firstlight-admin", &[ADMIN_GROUP]);
            self.admin = self.authority.issue(&leaf, self.clock.now(), &self.random)?;
            write_identity(&self.folder, "admin", &self.admin)?;
        }
        Ok(server_due || admin_due)
    }

    /// Returns the certificate of the authority, PEM.
    pub fn authority(&self) -> &str {
        self.authority.certificate()
    }

    /// Like [`Self::controller_manager`]; `None` without controllers.
    pub(crate) fn duties(&self, controllers: &Selection) -> Option<ControllerManager> {
        (!controllers.is_none()).then(|| self.controller_manager())
    }

    /// Returns what the server does in place of kube-controller-manager, with this authority.
    pub fn controller_manager(&self) -> ControllerManager {
        ControllerManager {
            root_certificate: self.authority().to_owned(),
            request_signer: Arc::new(RequestSigner {
                authority: self.authority.clone(),
                clock: self.clock.clone(),
                random: self.random.clone(),
            }),
        }
    }

    /// Returns the authority of client certificates.
    ///
    /// # Errors
    /// Its certificate is damaged.
    pub fn authorities(&self) -> Result<Authorities> {
        Ok(Authorities::from_pem(self.authority.certificate())?)
    }

    /// Returns the TLS configuration of the listener.
    ///
    /// # Errors
    /// A certificate is damaged.
    pub fn server_config(&self) -> Result<rustls::ServerConfig> {
        let clients = ClientCertificates::Optional(self.authority.certificate().to_owned());
        Ok(server_config(Arc::new(ServerCertificates::new(&self.server)?), &clients, ALPN_HTTP, &self.clock)?)
    }

    /// Returns the administrator's kubeconfig for the server at `address`, as YAML. It contains a private key. All its entries are called
    /// `name`, so that those of several servers fit into one kubeconfig.
    ///
    /// # Errors
    /// Never, for certificates that were created here.
    pub fn kubeconfig(&self, address: SocketAddr, name: &str) -> Result<String> {
        let kubeconfig = Kubeconfig {
            cluster: name.to_owned(),
            user: name.to_owned(),
            context: name.to_owned(),
            server: format!("https://{}", reachable(address)),
            server_name: None,
            authority: self.authority.certificate().to_owned(),
            credentials: self.admin.clone().into(),
        };
        Ok(kubeconfig.to_yaml()?)
    }
}

/// Checks the certificates periodically, for ever, and passes renewed ones to `renewed`.
pub async fn keep_renewed(
    mut certificates: Certificates,
    clock: Clock,
    renewed: impl Fn(&Certificates) -> Result<()>,
) {
    loop {
        clock.sleep(CHECK_INTERVAL).await;
        let outcome = certificates.renew().and_then(|any| if any { renewed(&certificates) } else { Ok(()) });
        if let Err(error) = outcome {
            tracing::error!("cannot renew certificates: {error:#}");
        }
    }
}

/// Returns the authority, renewed if its validity has not begun, because a clock was ahead when it was made. The renewed certificate
/// has the same key, so that certificates it has issued stay valid.
pub(crate) fn begun(
    authority: CertificateAuthority,
    folder: &Path,
    name: &str,
    clock: &Clock,
) -> Result<CertificateAuthority> {
    let now = clock.now();
    let not_before = pki::inspect(authority.certificate())?.not_before;
    if not_before <= now {
        return Ok(authority);
    }
    tracing::warn!(
        authority = name,
        valid_from = %not_before,
        "the certificate authority is not valid yet: the clock was ahead when it was made, or is behind now. It is made again, with the same key"
    );
    let renewed = authority.renewed(now)?;
    write_identity(folder, name, &renewed.identity())?;
    Ok(renewed)
}

/// Returns the address at which this machine reaches a server that listens on `address`.
pub fn reachable(address: SocketAddr) -> SocketAddr {
    let mut reachable = address;
    if address.ip().is_unspecified() {
        let loopback =
            if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
        reachable.set_ip(loopback);
    }
    reachable
}

fn server_names(listen: SocketAddr) -> Vec<String> {
    let mut names: Vec<String> = [
        "localhost",
        "127.0.0.1",
        "::1",
        "firstlight",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push(pod_network::API.ip().to_string());
    let ip = listen.ip();
    if !ip.is_unspecified() && !ip.is_loopback() {
        names.push(ip.to_string());
    }
    names
}

/// Returns the certificate and key `NAME.crt` and `NAME.key` of a folder, if both are there.
///
/// # Errors
/// A file cannot be read.
pub fn read_identity(folder: &Path, name: &str) -> Result<Option<Identity>> {
    let read = |end: &str| {
        let path = folder.join(format!("{name}.{end}"));
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    };
    Ok(read("crt")?.zip(read("key")?).map(|(certificate, key)| Identity { certificate, key }))
}

pub(crate) fn write_identity(folder: &Path, name: &str, identity: &Identity) -> Result<()> {
    write_private(&folder.join(format!("{name}.key")), identity.key.as_bytes())?;
    write_private(&folder.join(format!("{name}.crt")), identity.certificate.as_bytes())
}
