//! The transfer of one file to one client.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::net::UdpSocket;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use machinery::clock::Clock;
use tokio_util::sync::CancellationToken;

use super::packet::{self, BLOCK, Message, Options};
use super::sender::{Sender, Step};
use crate::limits;
use crate::pieces::Pieces;

/// The number of bytes of a file that each transfer has in memory.
const READ: usize = 64 << 10;
/// How often a waiting transfer checks whether the server stops.
const LOOK: Duration = Duration::from_millis(200);

/// A transfer of a file. Each transfer has its own thread with blocking system calls: a client waits for each block before it asks for
/// the next, so the speed depends only on the latency of one message.
pub struct Transfer {
    socket: UdpSocket,
    source: Source,
    options: Options,
    block: usize,
    patience: Duration,
    clock: Clock,
    shutdown: CancellationToken,
}

impl Transfer {
    /// Prepares to send `content` to the client that `socket` is connected to.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn new(
        socket: UdpSocket,
        content: Content,
        options: Options,
        clock: Clock,
        shutdown: CancellationToken,
    ) -> io::Result<Self> {
        let asked = options.timeout.map(|seconds| Duration::from_secs(seconds.into()));
        socket.set_read_timeout(Some(LOOK))?;
        Ok(Self {
            socket,
            source: Source { length: content.length(), content, part: Vec::new(), first: 0 },
            options,
            block: options.block.unwrap_or(BLOCK),
            patience: asked.unwrap_or(limits::TFTP_PATIENCE),
            clock,
            shutdown,
        })
    }

    /// Sends the file, and returns the number of bytes that the client has received: 0 if it wanted only the size of the file.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] if the client is silent, [`ErrorKind::Other`] if it aborts, [`ErrorKind::ConnectionAborted`] if the
    /// server stops; errors of the operating system.
    pub fn run(mut self) -> io::Result<u64> {
        if let Some(options) = self.options.acknowledgement(self.source.length)
            && !self.agree(&options)?
        {
            return Ok(0);
        }
        let window = self.options.window.unwrap_or(1) as u64;
        let mut sender = Sender::new(self.source.length, self.block as u64, window);
        let mut step = sender.window();
        let mut deadline = self.clock.monotonic();
        let mut tries = 0;
        // A client that acknowledged the options is real; the source address of a request alone may be forged.
        let mut is_heard = self.options != Options::default();
        loop {
            match step {
                Step::Done => return Ok(self.source.length),
                Step::Send(first, last) => {
                    self.send(first, last)?;
                    deadline = self.clock.monotonic() + self.patience(is_heard);
                }
                Step::Wait => {}
            }
            step = self.acknowledgement()?.map_or(Step::Wait, |number| sender.acknowledge(number));
            if step != Step::Wait {
                (tries, is_heard) = (0, true);
            } else if self.clock.monotonic() >= deadline {
                if tries >= if is_heard { limits::TFTP_TRIES } else { limits::TFTP_FIRST_TRIES } {
                    return Err(ErrorKind::TimedOut.into());
                }
                tries += 1;
                step = sender.window();
            }
        }
    }

    /// Sends the acknowledgement of the options until the client confirms it; `false` if the client aborts, because it wanted only the
    /// size of the file.
    fn agree(&self, options: &[u8]) -> io::Result<bool> {
        for _ in 0..=limits::TFTP_FIRST_TRIES {
            self.socket.send(options)?;
            let deadline = self.clock.monotonic() + self.patience(false);
            while self.clock.monotonic() < deadline {
                match self.acknowledgement() {
                    Ok(Some(0)) => return Ok(true),
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::Other => return Ok(false),
                    Err(error) => return Err(error),
                }
            }
        }
        Err(ErrorKind::TimedOut.into())
    }

    /// Returns the time to wait before a block is sent again.
    fn patience(&self, is_heard: bool) -> Duration {
        if is_heard { self.patience } else { self.patience.min(limits::TFTP_PATIENCE) }
    }

    fn send(&mut self, first: u64, last: u64) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(4 + self.block);
        for number in first..=last {
            packet::data((number & 0xffff) as u16, &mut bytes);
            self.source.append((number - 1) * self.block as u64, self.block, &mut bytes)?;
            self.socket.send(&bytes)?;
        }
        Ok(())
    }

    /// Waits a moment for an acknowledgement, and returns its block number; `None` if none arrives or another message does.
    fn acknowledgement(&self) -> io::Result<Option<u16>> {
        if self.shutdown.is_cancelled() {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        let mut buffer = [0; 600];
        let length = match self.socket.recv(&mut buffer) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        match Message::read(&buffer[..length]) {
            Some(Message::Acknowledge(number)) => Ok(Some(number)),
            Some(Message::Error(code, text)) => {
                Err(io::Error::other(format!("the client gave up with error {code}: {text}")))
            }
            _ => Ok(None),
        }
    }
}

/// The content of a transfer.
pub enum Content {
    /// A file, and its length in bytes.
    File(File, u64),
    /// A file that is assembled from pieces.
    Made(Pieces),
}

impl Content {
    /// Returns the length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::File(_, length) => *length,
            Self::Made(pieces) => pieces.len(),
        }
    }

    fn read_at(&self, part: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::File(file, _) => file.read_exact_at(part, offset),
            Self::Made(pieces) => pieces.range(offset, part.len() as u64).read_exact(part),
        }
    }
}

/// A file, of which one part is in memory.
struct Source {
    content: Content,
    length: u64,
    part: Vec<u8>,
    first: u64,
}

impl Source {
    /// Appends `length` bytes from `offset` on to `bytes`, or fewer at the end of the file.
    fn append(&mut self, offset: u64, length: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let end = (offset + length as u64).min(self.length);
        let held = self.first..self.first + self.part.len() as u64;
        if offset < end && !(held.contains(&offset) && end <= held.end) {
            let wanted = usize::try_from(self.length - offset).unwrap_or(usize::MAX).min(READ);
            self.part.resize(wanted, 0);
            self.content.read_at(&mut self.part, offset)?;
            self.first = offset;
        }
        let start = usize::try_from(offset.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let count = usize::try_from(end.saturating_sub(offset)).unwrap_or(0);
        bytes.extend_from_slice(self.part.get(start..start + count).unwrap_or_default());
        Ok(())
    }
}
