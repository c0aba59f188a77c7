//! A small proxy for tests, on a free port of loopback. It speaks HTTP (CONNECT, and requests without TLS), with or without TLS, or SOCKS 5.
//! It resolves names itself, from a table, so that tests can reach servers on loopback under names of other machines.

mod http;
mod socks;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use parking_lot::Mutex;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A proxy. Dropping it ends it.
pub struct Proxy {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

/// What a proxy knows and does.
#[derive(Debug, Default)]
pub struct State {
    /// Where the hosts are, as `host:port`. Others cannot be reached.
    pub hosts: BTreeMap<String, SocketAddr>,
    /// The user and the password that it wants.
    pub credentials: Option<(String, String)>,
    /// What it answers instead of making a connection, for example `HTTP/1.1 503 Service Unavailable\r\n\r\n`.
    pub answer: Option<Vec<u8>>,
    /// What it was asked for: `CONNECT host:port`, `GET http://host/path` or `SOCKS host:port`.
    pub asked: Vec<String>,
}

type Shared = Arc<Mutex<State>>;

impl Proxy {
    /// Starts a proxy that speaks HTTP.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn http() -> Result<Self> {
        Self::start(|stream, state| async move { http::serve(stream, state).await }).await
    }

    /// Starts a proxy that speaks HTTP over TLS.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn https(tls: ServerConfig) -> Result<Self> {
        let tls = TlsAcceptor::from(Arc::new(tls));
        Self::start(move |stream, state| {
            let tls = tls.clone();
            async move { http::serve(tls.accept(stream).await?, state).await }
        })
        .await
    }

    /// Starts a proxy that speaks SOCKS 5.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn socks() -> Result<Self> {
        Self::start(|stream, state| async move { socks::serve(stream, state).await }).await
    }

    async fn start<F>(serve: impl Fn(TcpStream, Shared) -> F + Send + 'static) -> Result<Self>
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state = Shared::default();
        let shared = state.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A connection that breaks is one that a test breaks.
                drop(tokio::spawn(serve(stream, shared.clone())));
            }
        });
        Ok(Self { address, state, task })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says where a host is, which is named as `host:port`.
    pub fn knows(&self, host: &str, address: SocketAddr) {
        self.state.lock().hosts.insert(host.to_owned(), address);
    }

    /// Changes or reads what it knows and does.
    pub fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock())
    }

    /// What it was asked for so far.
    pub fn asked(&self) -> Vec<String> {
        self.state.lock().asked.clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Connects to a host of the table.
async fn reach(state: &Shared, host: &str) -> io::Result<TcpStream> {
    let address = state.lock().hosts.get(host).copied().ok_or(io::ErrorKind::NotFound)?;
    TcpStream::connect(address).await
}

async fn carry(mut client: impl AsyncRead + AsyncWrite + Unpin, mut server: TcpStream) -> io::Result<()> {
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}
