//! `kube-apiserver` with envtest's flags: the API server's own kinds without Cluster API, and everything in memory.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use access::authorize::AllowAll;
use access::certificate::Authorities;
use access::{Rbac, Tokens};
use anyhow::{Context, Result, anyhow, bail};
use machinery::clock::Clock;
use machinery::random::Random;
use net::RealNetwork;
use pki::tls::{ALPN_HTTP, ClientCertificates, ServerCertificates, server_config};
use pki::{Identity, SigningKey, TokenKeys, VerifyingKey};
use registry::{Admission, Housekeeping, Registry, ServiceRange};
use server::open_files;
use server::plane::version;
use serving::{Listener, Server, Tls};
use store::{Memory, Store};
use tokio::net::TcpListener;
use webhook::HttpsCaller;

use super::CONTROLLERS;
use super::flags::Flags;
use crate::signals::Signals;

/// The text of `--help`.
pub const HELP: &str = "\
Usage: kube-apiserver [flags]

A Kubernetes API server for tests, which keeps everything in memory. It is firstlight. With FIRSTLIGHT_ENVTEST_CONTROLLERS=1 it also does
what kube-controller-manager does for the API itself: garbage collection, namespace deletion, aggregated roles, default service accounts,
use of quotas.

      --authorization-mode strings                RBAC or AlwaysAllow (default AlwaysAllow)
      --bind-address ip                           Address to listen on (default 0.0.0.0)
      --cert-dir string                           Directory of apiserver.crt and apiserver.key
      --disable-admission-plugins strings         ServiceAccount has an effect, as envtest says it
      --client-ca-file string                     Authorities of client certificates
      --secure-port int                           Port to listen on (default 6443)
      --service-account-issuer string             Issuer of tokens
      --service-account-key-file strings          Files with keys that verify tokens
      --service-account-signing-key-file string   File with the key that signs tokens
      --service-cluster-ip-range string           Range of the cluster IPs (default 10.0.0.0/24)
      --tls-cert-file string                      The server's certificate, instead of the one in --cert-dir
      --tls-private-key-file string               Its key

All other flags are accepted, without effect.
";

/// The flags that are parsed, or that need no support here. Other flags cause a warning.
const KNOWN: &[&str] = &[
    "advertise-address",
    "allow-privileged",
    "authorization-mode",
    "bind-address",
    "cert-dir",
    "client-ca-file",
    "disable-admission-plugins",
    "etcd-servers",
    "secure-port",
    "service-account-issuer",
    "service-account-key-file",
    "service-account-signing-key-file",
    "service-cluster-ip-range",
    "tls-cert-file",
    "tls-private-key-file",
    "v",
];

/// Serves until SIGTERM.
///
/// # Errors
/// A flag or file is invalid, or the port is in use.
pub async fn run(flags: &Flags) -> Result<()> {
    for flag in flags.names().filter(|flag| !KNOWN.contains(flag)) {
        tracing::warn!(flag, "this flag has no effect here");
    }
    open_files::raise_limit();
    let (clock, random) = (Clock::system(), Random::system());
    let address = address(flags)?;
    let tcp = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let clients = flags.file("client-ca-file")?;
    let authorities = clients.as_deref().map(Authorities::from_pem).transpose()?.unwrap_or_default();
    let tls = Tls::new(tls(flags, &clock)?).with_authorities(authorities);
    let server = server(flags, &clock, &random).await?;
    server.advertise(SocketAddr::new(advertised(flags, address)?, address.port()));
    if let Some(clients) = clients {
        server.registry().publish_client_authority(&clients);
    }
    tracing::info!(%address, "serving");
    let mut signals = Signals::catch()?;
    let end = async move {
        signals.next().await;
    };
    Listener::new(server, Some(tls)).serve(tcp, end).await;
    Ok(())
}

fn address(flags: &Flags) -> Result<SocketAddr> {
    let ip = flags.value("bind-address").unwrap_or("0.0.0.0");
    let ip: IpAddr = ip.parse().with_context(|| format!("--bind-address: {ip} is no IP address"))?;
    let port = flags.value("secure-port").unwrap_or("6443");
    let port = port.parse().with_context(|| format!("--secure-port: {port} is no port"))?;
    Ok(SocketAddr::new(ip, port))
}

fn advertised(flags: &Flags, listen: SocketAddr) -> Result<IpAddr> {
    let Some(ip) = flags.value("advertise-address") else { return Ok(listen.ip()) };
    ip.parse().with_context(|| format!("--advertise-address: {ip} is no IP address"))
}

fn tls(flags: &Flags, clock: &Clock) -> Result<rustls::ServerConfig> {
    let identity = match (flags.file("tls-cert-file")?, flags.file("tls-private-key-file")?) {
        (Some(certificate), Some(key)) => Identity { certificate, key },
        _ => {
            let folder = Path::new(flags.value("cert-dir").unwrap_or("/var/run/kubernetes"));
            let read = |name: &str| {
                let path = folder.join(name);
                std::fs::read_to_string(&path).with_context(|| {
                    format!(
                        "--cert-dir: cannot read {}; it needs apiserver.crt and apiserver.key",
                        path.display()
                    )
                })
            };
            Identity { certificate: read("apiserver.crt")?, key: read("apiserver.key")? }
        }
    };
    let clients =
        flags.file("client-ca-file")?.map_or(ClientCertificates::None, ClientCertificates::Optional);
    Ok(server_config(Arc::new(ServerCertificates::new(&identity)?), &clients, ALPN_HTTP, clock)?)
}

fn token_keys(flags: &Flags, random: &Random) -> Result<TokenKeys> {
    const SIGNING: &str = "service-account-signing-key-file";
    const VERIFYING: &str = "service-account-key-file";
    let Some(text) = flags.file(SIGNING)? else { return Ok(TokenKeys::generate(random)?) };
    let signing = SigningKey::from_pem(&text).with_context(|| format!("--{SIGNING} cannot be used"))?;
    let mut others = Vec::new();
    for path in flags.list(VERIFYING) {
        let failed = || format!("--{VERIFYING}: {path} cannot be used");
        let text = std::fs::read_to_string(path).with_context(failed)?;
        others.push(VerifyingKey::from_pem(&text).with_context(failed)?);
    }
    Ok(TokenKeys::new(signing, others))
}

/// Returns the housekeeping of kube-apiserver alone, or with `controllers` also that of kube-controller-manager for the API.
fn housekeeping(controllers: bool) -> Housekeeping {
    Housekeeping {
        garbage_collection: controllers,
        namespace_deletion: controllers,
        service_accounts: controllers,
        role_aggregation: controllers,
        quotas: controllers,
        standard_objects: true,
        ..Housekeeping::default()
    }
}

/// Returns the range of cluster IPs: the first one of IPv4 addresses, or the default, since there are no others here.
fn service_range(flags: &Flags) -> ServiceRange {
    const RANGE: &str = "service-cluster-ip-range";
    let ranges = flags.list(RANGE);
    if let Some(range) = ranges.iter().find_map(|range| range.parse().ok()) {
        return range;
    }
    let default = ServiceRange::default();
    if !ranges.is_empty() {
        tracing::warn!(?ranges, %default, "--{RANGE}: no range of IPv4 addresses of /8 to /30, so Services get addresses of the default one");
    }
    default
}

async fn server(flags: &Flags, clock: &Clock, random: &Random) -> Result<Server> {
    let modes = flags.list("authorization-mode");
    let store = Store::open(Memory::default(), clock.clone()).await?;
    let rbac = if modes.is_empty() || modes.contains(&"AlwaysAllow") {
        None
    } else if modes.contains(&"RBAC") {
        Some(Rbac::new(store.clone()))
    } else {
        bail!("--authorization-mode: {}: there are RBAC and AlwaysAllow", modes.join(","));
    };
    let issuer = flags.value("service-account-issuer").unwrap_or(access::tokens::DEFAULT_ISSUER);
    let keys = token_keys(flags, random)?;
    let tokens = Tokens::with_issuer(store.clone(), clock.clone(), random.clone(), keys, issuer);
    let options = registry::Options {
        kinds: None,
        converter: None,
        housekeeping: housekeeping(std::env::var(CONTROLLERS).is_ok_and(|value| value == "1")),
        admission: rbac.iter().map(|rbac| Arc::new(rbac.clone()) as Arc<dyn Admission>).collect(),
        service_range: service_range(flags),
        service_accounts: !flags.list("disable-admission-plugins").contains(&"ServiceAccount"),
        webhooks: Some(Arc::new(HttpsCaller::over(Arc::new(RealNetwork), clock.clone()))),
    };
    let registry = Registry::open(store, clock.clone(), random.clone(), options).await;
    let registry = registry.map_err(|error| anyhow!("the API server cannot start: {error}"))?;
    let builder = Server::builder(registry, clock.clone()).version(version()).tokens(tokens);
    Ok(match rbac {
        Some(rbac) => builder.authorizer(rbac).build(),
        None => builder.authorizer(AllowAll).build(),
    })
}
