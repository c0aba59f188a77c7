//! The sockets of the TFTP server.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::packet::{self, Message, Request, code};
use super::transfer::{Content, Transfer};
use crate::boot_files::BootFiles;
use crate::error::Error;
use crate::limits;
use crate::metrics::Metrics;
use crate::network::{self, Interface};
use crate::offer::NO_BOOT_FILE;
use crate::personal::PersonalFiles;
use crate::pieces::Pieces;
use crate::shares::{Place, Shares};

/// The stack size of a transfer's thread, which has a shallow call depth.
const STACK: usize = 256 << 10;

/// The files that TFTP serves by name.
#[derive(Clone)]
pub struct Files {
    /// The boot files.
    pub boot: BootFiles,
    /// The names of [`BootFiles::tftp_names`].
    pub names: BTreeSet<String>,
    /// Makes the files of single machines.
    pub personal: Option<Arc<dyn PersonalFiles>>,
}

impl Files {
    /// Returns the path of the file with that name. A Raspberry Pi first asks for names below a folder with its serial number.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let without_serial = || {
            let (serial, rest) = name.split_once('/')?;
            let is_serial = serial.len() == 8 && serial.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_serial.then(|| self.boot.path(rest, &self.names)).flatten()
        };
        self.boot.path(name, &self.names).or_else(without_serial)
    }

    /// Returns whether a BareMetalHost describes the machine with this address.
    fn is_known(&self, client: IpAddr) -> bool {
        self.personal.as_ref().is_some_and(|personal| personal.is_known(client))
    }

    /// Returns the client's own version of the file, if it has one.
    async fn own(&self, name: &str, client: IpAddr) -> Option<Pieces> {
        Some(self.personal.as_ref()?.find(name, client).await?.content)
    }
}

/// The TFTP server of one interface.
pub struct Server {
    interface: Interface,
    files: Files,
    sockets: Vec<Arc<UdpSocket>>,
    /// The clients with a transfer: a repeated request does not start a second one.
    clients: Mutex<HashSet<SocketAddr>>,
    transfers: Arc<Shares>,
    clock: Clock,
    metrics: Metrics,
}

impl Server {
    /// Opens the sockets on the interface.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::NotPermitted`], [`Error::Socket`].
    pub fn open(
        interface: Interface,
        port: u16,
        files: Files,
        clock: Clock,
        metrics: Metrics,
    ) -> Result<Self, Error> {
        let mut sockets = vec![Arc::new(network::datagrams_v4("TFTP", &interface.name, port)?)];
        if !interface.addresses_v6.is_empty() {
            sockets.push(Arc::new(network::datagrams_v6("TFTP", &interface, port, &[])?));
        }
        let transfers = Shares::new(
            (limits::TRANSFERS, "netboot_transfers"),
            (limits::TRANSFERS_OF_ONE, "netboot_transfers_of_one"),
            (limits::TRANSFERS_OF_STRANGERS, "netboot_transfers_of_strangers"),
        );
        Ok(Self { interface, files, sockets, clients: Mutex::default(), transfers, clock, metrics })
    }

    /// Returns the port of the IPv4 socket.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn port(&self) -> io::Result<u16> {
        let socket = self.sockets.first().ok_or(ErrorKind::NotConnected)?;
        socket.local_addr().map(|address| address.port())
    }

    /// Answers requests until `shutdown`.
    pub fn run(self, tasks: &TaskTracker, shutdown: &CancellationToken) {
        let server = Arc::new(self);
        for socket in server.sockets.clone() {
            let serving = server.clone().serve(socket, tasks.clone(), shutdown.clone());
            tasks.spawn(shutdown.clone().run_until_cancelled_owned(serving));
        }
    }

    async fn serve(self: Arc<Self>, socket: Arc<UdpSocket>, tasks: TaskTracker, shutdown: CancellationToken) {
        let mut buffer = [0; 1500];
        loop {
            let (length, client) = network::receive("TFTP", &socket, &mut buffer).await;
            let request = match Message::read(&buffer[..length]) {
                Some(Message::Read(request)) => request,
                Some(Message::Write) => {
                    let refused = packet::error(code::NOT_PERMITTED, "files can only be read here");
                    let _ = socket.send_to(&refused, client).await;
                    continue;
                }
                _ => continue,
            };
            if self.clients.lock().contains(&client) {
                continue;
            }
            // Beyond the limit of transfers the request is dropped; clients ask again after a second.
            let is_known = self.files.is_known(client.ip());
            let place = match self.transfers.take(client.ip(), is_known) {
                Ok(place) => place,
                Err(limit) => {
                    self.metrics.limit(limit);
                    continue;
                }
            };
            self.clients.lock().insert(client);
            let served = Served { server: self.clone(), client, _place: place, _task: tasks.token() };
            let ends = shutdown.clone();
            let transfer = async move {
                // The lookup of a machine's own file may wait for the API.
                let own = served.server.files.own(&request.file, client.ip()).await;
                served.start(request, own, ends);
            };
            tasks.spawn(shutdown.clone().run_until_cancelled_owned(transfer));
        }
    }

    /// Returns the local address for answers to the client.
    fn local(&self, client: SocketAddr) -> SocketAddr {
        let (v4, v6) = (self.interface.address(), &self.interface.addresses_v6);
        match client {
            SocketAddr::V4(_) => SocketAddr::new(v4.into(), 0),
            SocketAddr::V6(client) => {
                let near = client.ip().is_unicast_link_local();
                let own = v6.iter().find(|address| address.is_unicast_link_local() == near);
                let own = own.copied().unwrap_or(std::net::Ipv6Addr::UNSPECIFIED);
                let scope = if near { self.interface.index } else { 0 };
                std::net::SocketAddrV6::new(own, 0, 0, scope).into()
            }
        }
    }
}

/// A running transfer of a client; the server waits for it when it stops.
struct Served {
    server: Arc<Server>,
    client: SocketAddr,
    _place: Place,
    _task: TaskTrackerToken,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.clients.lock().remove(&self.client);
    }
}

impl Served {
    fn start(self, request: Request, own: Option<Pieces>, shutdown: CancellationToken) {
        let client = self.client;
        let thread = std::thread::Builder::new().name("tftp".into()).stack_size(STACK);
        if let Err(error) = thread.spawn(move || self.serve(&request, own, shutdown)) {
            tracing::warn!(%client, %error, "TFTP: no thread for a transfer");
        }
    }

    fn serve(self, request: &Request, own: Option<Pieces>, shutdown: CancellationToken) {
        let (client, file, metrics) = (self.client, &request.file, &self.server.metrics);
        match self.transfer(request, own, shutdown.clone()) {
            Ok(bytes) => {
                metrics.transfer("complete", bytes);
                tracing::debug!(%client, file, bytes, "TFTP");
            }
            Err(_) if shutdown.is_cancelled() => {}
            // The name without a file makes the machine continue with its disk, so it is not an error.
            Err(error) if error.kind() == ErrorKind::NotFound && *file == NO_BOOT_FILE => {
                metrics.transfer("not_found", 0);
            }
            Err(error) => {
                metrics.transfer(result(error.kind()), 0);
                if error.kind() == ErrorKind::TimedOut {
                    metrics.limit("netboot_tftp_tries");
                }
                tracing::info!(%client, file, %error, "TFTP: the transfer ended early");
            }
        }
    }

    /// Sends a file, or an error if there is none, and returns the number of bytes that the client has received.
    fn transfer(
        &self,
        request: &Request,
        own: Option<Pieces>,
        shutdown: CancellationToken,
    ) -> io::Result<u64> {
        let (server, client) = (&self.server, self.client);
        let socket = network::transfer(server.local(client), client)?;
        let shared = || server.files.find(&request.file).ok_or(ErrorKind::NotFound.into());
        match own.map(Content::Made).map_or_else(|| shared().and_then(|path| open(&path)), Ok) {
            Ok(content) => {
                Transfer::new(socket, content, request.options, server.clock.clone(), shutdown)?.run()
            }
            Err(error) => {
                socket.send(&packet::error(code::NOT_FOUND, "no such file"))?;
                Err(error)
            }
        }
    }
}

/// Returns the name for the metrics of a transfer that ended with an error.
fn result(error: ErrorKind) -> &'static str {
    match error {
        ErrorKind::NotFound => "not_found",
        ErrorKind::TimedOut => "timed_out",
        // The client sent an error.
        ErrorKind::Other => "aborted",
        _ => "failed",
    }
}

fn open(path: &std::path::Path) -> io::Result<Content> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok(Content::File(file, metadata.len())) } else { Err(ErrorKind::NotFound.into()) }
}
