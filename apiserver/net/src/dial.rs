//! Opens connections, directly or through a proxy.

use std::io;
use std::net::SocketAddr;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::Uri;
use http::uri::Authority;
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use crate::addresses::without_brackets;
use crate::authorities;
use crate::connection::Connection;
use crate::error::Error;
use crate::limits::{CONNECT, NEXT_ADDRESS};
use crate::proxies::Proxies;
use crate::proxy::{Protocol, Proxy};
use crate::{socks, tunnel};

/// What is spoken over a connection, which selects the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP without TLS: a proxy for HTTP reads the requests.
    Http,
    /// HTTP over TLS, or anything else of which a proxy only carries the bytes.
    Https,
}

impl Scheme {
    /// The scheme of an address.
    pub(crate) fn of(uri: &Uri) -> Self {
        if uri.scheme_str() == Some("http") { Self::Http } else { Self::Https }
    }

    /// The port of an address.
    pub(crate) fn port(self, uri: &Uri) -> u16 {
        uri.port_u16().unwrap_or(match self {
            Self::Http => 80,
            Self::Https => 443,
        })
    }
}

/// Connects to a host, through the proxy that is for it. The connection takes at most [`CONNECT`].
///
/// # Errors
/// Why there is no connection.
pub async fn dial(proxies: &Proxies, scheme: Scheme, host: &str, port: u16) -> Result<Connection, Error> {
    let host = without_brackets(host);
    let proxy = proxies.find(scheme, host, port)?;
    let connected = timeout(CONNECT, async {
        match proxy {
            None => Ok(Connection::plain(tcp(host, port).await?)),
            Some(proxy) => through(proxy, scheme, host, port).await,
        }
    });
    connected.await.unwrap_or_else(|_| {
        let direct = || written(host, port);
        Err(Error::TimedOut { to: proxy.map_or_else(direct, |proxy| format!("the proxy {proxy}")) })
    })
}

async fn through(proxy: &Proxy, scheme: Scheme, host: &str, port: u16) -> Result<Connection, Error> {
    let mut stream = reached(proxy).await?;
    match (proxy.protocol, scheme) {
        (Protocol::Socks, _) => socks::open(&mut stream, proxy, host, port).await?,
        (_, Scheme::Http) => stream = stream.for_proxy(),
        (_, Scheme::Https) => {
            // It becomes a line of a request, so it must be nothing but a host.
            let is_host = |to: &Authority| !host.is_empty() && !to.as_str().contains('@');
            let to = written(host, port).parse().ok().filter(is_host);
            let to = to.ok_or_else(|| Error::Host { host: host.to_owned() })?;
            tunnel::open(&mut stream, proxy, &to).await?;
        }
    }
    Ok(stream)
}

/// Connects to the proxy itself.
async fn reached(proxy: &Proxy) -> Result<Connection, Error> {
    let unreachable = |cause: String| Error::Unreachable { proxy: proxy.to_string(), cause };
    let stream = tcp(&proxy.host, proxy.port).await.map_err(|error| match error {
        // A proxy whose name is not known is not known a little later, either.
        error @ Error::Unresolved { .. } => error,
        other => unreachable(other.to_string()),
    })?;
    if proxy.protocol != Protocol::Https {
        return Ok(Connection::plain(stream));
    }
    let config = authorities::of_proxies();
    let config = config.map_err(|why| Error::Authorities { to: proxy.to_string(), why })?;
    let name = ServerName::try_from(proxy.host.clone()).map_err(|error| unreachable(error.to_string()))?;
    let stream = TlsConnector::from(config).connect(name, stream).await;
    Ok(Connection::secured(stream.map_err(|error| unreachable(error.to_string()))?))
}

/// Connects to the first address of a host that answers. The next one is tried when one fails, or does not answer at once.
async fn tcp(host: &str, port: u16) -> Result<TcpStream, Error> {
    let found = lookup_host((host, port)).await;
    let found = found.map_err(|cause| Error::Unresolved { name: host.to_owned(), cause })?;
    let mut waiting = alternating(found.collect()).into_iter();
    let mut tried = FuturesUnordered::new();
    let mut last = None;
    loop {
        match waiting.next() {
            Some(address) => tried.push(TcpStream::connect(address)),
            None if tried.is_empty() => break,
            None => {}
        }
        let is_last = waiting.len() == 0;
        tokio::select! {
            biased;
            Some(outcome) = tried.next() => match outcome {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Err(error) => last = Some(error),
            },
            () = sleep(NEXT_ADDRESS), if !is_last => {}
        }
    }
    Err(Error::Direct(last.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into())))
}

/// The addresses, those of both families in turn, beginning with the family of the first one.
fn alternating(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (mut one, mut other): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == first);
    one.reverse();
    other.reverse();
    let mut all = Vec::new();
    while !one.is_empty() || !other.is_empty() {
        all.extend(one.pop());
        all.extend(other.pop());
    }
    all
}

/// Host and port as text, an address of IPv6 in brackets.
pub(crate) fn written(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
