//! The sockets of TFTP.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::UdpSocket;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::packet::{self, BLOCK, Message, Request, code};
use super::sender::{Sender, Step};
use crate::boot_files::BootFiles;
use crate::dhcp4::boot::NO_BOOT_FILE;
use crate::error::Error;
use crate::limits;
use crate::network::{self, Interface};

/// How much of a file is in memory at a time, for each transfer.
const READ: usize = 64 << 10;

/// What is served by name.
#[derive(Clone)]
pub struct Files {
    /// What machines boot.
    pub boot: BootFiles,
    /// The names of [`BootFiles::tftp_names`].
    pub names: BTreeSet<String>,
}

impl Files {
    /// The file with that name. A Raspberry Pi asks for its serial number as a folder first.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let without_serial = || {
            let (serial, rest) = name.split_once('/')?;
            let is_serial = serial.len() == 8 && serial.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_serial.then(|| self.boot.path(rest, &self.names)).flatten()
        };
        self.boot.path(name, &self.names).or_else(without_serial)
    }
}

/// The server of one interface.
pub struct Server {
    interface: Interface,
    files: Files,
    sockets: Vec<Arc<UdpSocket>>,
    /// Clients that are served: a request that comes twice is one.
    clients: Mutex<HashSet<SocketAddr>>,
    transfers: Arc<Semaphore>,
}

impl Server {
    /// Opens the sockets on the interface.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::NotPermitted`].
    pub fn open(interface: Interface, port: u16, files: Files) -> Result<Self, Error> {
        let mut sockets = vec![Arc::new(network::datagrams_v4("TFTP", &interface.name, port)?)];
        if !interface.addresses_v6.is_empty() {
            sockets.push(Arc::new(network::datagrams_v6("TFTP", &interface, port, &[])?));
        }
        let transfers = Arc::new(Semaphore::new(limits::TRANSFERS));
        Ok(Self { interface, files, sockets, clients: Mutex::default(), transfers })
    }

    /// The port of IPv4.
    ///
    /// # Errors
    /// Those of the system.
    pub fn port(&self) -> io::Result<u16> {
        let socket = self.sockets.first().ok_or(io::ErrorKind::NotConnected)?;
        socket.local_addr().map(|address| address.port())
    }

    /// Answers until `shutdown`.
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
            // More than so many machines ask again after a second.
            let Ok(permit) = self.transfers.clone().try_acquire_owned() else { continue };
            if !self.clients.lock().insert(client) {
                continue;
            }
            let (server, shutdown) = (self.clone(), shutdown.clone());
            tasks.spawn(async move {
                let file = &request.file;
                match shutdown.run_until_cancelled(server.transfer(client, &request)).await {
                    Some(Ok(bytes)) => tracing::debug!(%client, file, bytes, "TFTP"),
                    Some(Err(error)) => {
                        tracing::info!(%client, file, %error, "TFTP: the transfer ended early")
                    }
                    None => {}
                }
                server.clients.lock().remove(&client);
                drop(permit);
            });
        }
    }

    /// Sends a file, or says why not; how many bytes it has.
    async fn transfer(&self, client: SocketAddr, request: &Request) -> io::Result<u64> {
        let socket = network::transfer(self.local(client), client)?;
        let opened = match self.files.find(&request.file) {
            Some(path) => tokio::task::spawn_blocking(move || open(&path)).await?,
            None => Err(io::ErrorKind::NotFound.into()),
        };
        let (file, length) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                socket.send(&packet::error(code::NOT_FOUND, "no such file")).await?;
                // The machine is to go on to its disk: all is well.
                return if request.file == NO_BOOT_FILE { Ok(0) } else { Err(error) };
            }
        };
        let block = request.options.block.unwrap_or(BLOCK);
        let transfer = Transfer {
            socket,
            patience: request
                .options
                .timeout
                .map_or(limits::TFTP_PATIENCE, |seconds| Duration::from_secs(seconds.into())),
            source: Source { file, length, part: Vec::new(), first: 0 },
            block,
        };
        transfer.run(request, length).await?;
        Ok(length)
    }

    /// The address that the client is answered from.
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

fn open(path: &std::path::Path) -> io::Result<(File, u64)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok((file, metadata.len())) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// A file, a part of it in memory.
struct Source {
    file: File,
    length: u64,
    part: Vec<u8>,
    first: u64,
}

impl Source {
    /// Appends `length` bytes from `offset` on to `bytes`, fewer at the end of the file.
    async fn append(&mut self, offset: u64, length: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let end = (offset + length as u64).min(self.length);
        let held = self.first..self.first + self.part.len() as u64;
        if offset < end && !(held.contains(&offset) && end <= held.end) {
            let wanted = usize::try_from(self.length - offset).unwrap_or(usize::MAX).min(READ);
            let file = self.file.try_clone()?;
            let mut part = std::mem::take(&mut self.part);
            self.part = tokio::task::spawn_blocking(move || {
                part.resize(wanted, 0);
                file.read_exact_at(&mut part, offset).map(|()| part)
            })
            .await??;
            self.first = offset;
        }
        let start = usize::try_from(offset.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let count = usize::try_from(end.saturating_sub(offset)).unwrap_or(0);
        bytes.extend_from_slice(self.part.get(start..start + count).unwrap_or_default());
        Ok(())
    }
}

struct Transfer {
    socket: UdpSocket,
    patience: Duration,
    source: Source,
    block: usize,
}

impl Transfer {
    async fn run(mut self, request: &Request, length: u64) -> io::Result<()> {
        if let Some(options) = request.options.acknowledgement(length)
            && !self.agree(&options).await?
        {
            return Ok(());
        }
        let window = request.options.window.unwrap_or(1) as u64;
        let mut sender = Sender::new(length, self.block as u64, window);
        let mut step = sender.window();
        let mut tries = 0;
        loop {
            match step {
                Step::Done => return Ok(()),
                Step::Send(first, last) => self.send(first, last).await?,
                Step::Wait => {}
            }
            step = match self.acknowledgement().await? {
                Some(number) => {
                    let step = sender.acknowledge(number);
                    if step != Step::Wait {
                        tries = 0;
                    }
                    step
                }
                None if tries == limits::TFTP_TRIES => return Err(io::ErrorKind::TimedOut.into()),
                None => {
                    tries += 1;
                    sender.window()
                }
            };
        }
    }

    /// Sends the options until the client has them; `false` when it wanted to know no more than the size of the file.
    async fn agree(&self, options: &[u8]) -> io::Result<bool> {
        for _ in 0..=limits::TFTP_TRIES {
            self.socket.send(options).await?;
            match self.acknowledgement().await {
                Ok(Some(0)) => return Ok(true),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Other => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    async fn send(&mut self, first: u64, last: u64) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(4 + self.block);
        for number in first..=last {
            packet::data((number & 0xffff) as u16, &mut bytes);
            self.source.append((number - 1) * self.block as u64, self.block, &mut bytes).await?;
            self.socket.send(&bytes).await?;
        }
        Ok(())
    }

    /// The number of a block that the client acknowledges; `None` when it says nothing for too long.
    async fn acknowledgement(&self) -> io::Result<Option<u16>> {
        let mut buffer = [0; 600];
        let heard = async {
            loop {
                let length = self.socket.recv(&mut buffer).await?;
                match Message::read(&buffer[..length]) {
                    Some(Message::Acknowledge(number)) => return Ok(number),
                    Some(Message::Error(code, text)) => {
                        return Err(io::Error::other(format!(
                            "the client gave up with error {code}: {text}"
                        )));
                    }
                    _ => {}
                }
            }
        };
        match tokio::time::timeout(self.patience, heard).await {
            Ok(heard) => heard.map(Some),
            Err(_) => Ok(None),
        }
    }
}
