//! The device at the end of a Pod's network: what the Pod sends comes out of it, and what is written to it is received by the Pod.

use std::io;
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe::Receiver;

/// The device of a Pod. For tokio it is a pipe, whose functions suit any file for which one can wait.
pub(crate) struct Device(Receiver);

impl Device {
    pub(crate) fn new(file: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&file, true)?;
        Receiver::from_owned_fd_unchecked(file).map(Self)
    }

    /// Waits for a packet, and returns its length.
    pub(crate) async fn receive(&self, packet: &mut [u8]) -> io::Result<usize> {
        loop {
            self.0.readable().await?;
            if let Some(length) = self.receive_now(packet)? {
                return Ok(length);
            }
        }
    }

    /// Returns the length of the next packet; `None` if there is none yet.
    pub(crate) fn receive_now(&self, packet: &mut [u8]) -> io::Result<Option<usize>> {
        match self.0.try_read(packet) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a packet to the Pod. One that cannot be sent is lost, as in any network.
    pub(crate) fn send(&self, packet: &[u8]) {
        rustix::io::write(&self.0, packet).ok();
    }
}
