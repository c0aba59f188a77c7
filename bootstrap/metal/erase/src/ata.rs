//! ATA: the security feature set's erase (ATA/ATAPI Command Set 4, §7.41 to §7.46), through SCSI's ATA PASS-THROUGH (SAT-4, §12.2).
//!
//! A disk erases itself only for who has set a password. It is always the same one, so that a disk whose power went while it erased itself,
//! and which is locked since, is opened again by the next attempt.

use std::fs::File;
use std::io;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::call::{self, Data};

const IDENTIFY: u8 = 0xec;
const SET_PASSWORD: u8 = 0xf1;
const UNLOCK: u8 = 0xf2;
const ERASE_PREPARE: u8 = 0xf3;
const ERASE_UNIT: u8 = 0xf4;
const DISABLE_PASSWORD: u8 = 0xf6;
/// Bytes that go with a command.
const BLOCK: usize = 512;
/// Set before the erase, gone after it.
const PASSWORD: &[u8; 32] = b"firstlight\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// A command that the disk does at once; it may have to begin to turn.
const ANSWER: Duration = Duration::from_secs(30);
/// An erase whose time the disk does not tell.
const ERASE_TIME_MAX: Duration = Duration::from_secs(24 * 3600);

/// Who takes commands.
pub trait Port {
    /// Sends a command without data.
    ///
    /// # Errors
    /// The disk did not do it.
    fn send(&mut self, command: u8, timeout: Duration) -> io::Result<()>;

    /// Sends a command with a block for the disk.
    ///
    /// # Errors
    /// The disk did not do it.
    fn write(&mut self, command: u8, block: &[u8; BLOCK], timeout: Duration) -> io::Result<()>;

    /// Sends a command that the disk answers with a block.
    ///
    /// # Errors
    /// The disk did not do it.
    fn read(&mut self, command: u8, timeout: Duration) -> io::Result<[u8; BLOCK]>;
}

impl Port for &File {
    fn send(&mut self, command: u8, timeout: Duration) -> io::Result<()> {
        call::scsi(self, &pass_through(command, Transfer::None), Data::None, timeout)
    }

    fn write(&mut self, command: u8, block: &[u8; BLOCK], timeout: Duration) -> io::Result<()> {
        call::scsi(self, &pass_through(command, Transfer::Out), Data::Out(block), timeout)
    }

    fn read(&mut self, command: u8, timeout: Duration) -> io::Result<[u8; BLOCK]> {
        let mut block = [0; BLOCK];
        call::scsi(self, &pass_through(command, Transfer::In), Data::In(&mut block), timeout)?;
        Ok(block)
    }
}

#[derive(Clone, Copy)]
enum Transfer {
    None,
    In,
    Out,
}

/// `ATA PASS-THROUGH (16)`: a command with one block, or none, by the processor's own transfer.
fn pass_through(command: u8, transfer: Transfer) -> [u8; 16] {
    // The protocol; and for data its direction, counted in blocks, as many as the count says.
    let (protocol, flags, count) = match transfer {
        Transfer::None => (3, 0, 0),
        Transfer::In => (4, 0b1110, 1),
        Transfer::Out => (5, 0b0110, 1),
    };
    let mut bytes = [0; 16];
    (bytes[0], bytes[1], bytes[2], bytes[6], bytes[14]) = (0x85, protocol << 1, flags, count, command);
    bytes
}

/// What a disk says of its security.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Security {
    /// It can be erased so.
    pub supported: bool,
    /// It has a password.
    pub enabled: bool,
    /// It is closed by it.
    pub locked: bool,
    /// It takes no change until its power was off.
    pub frozen: bool,
    /// It can erase what it has put aside, too.
    pub enhanced: bool,
    /// How long it says that takes, in minutes; 0 when it does not say.
    pub minutes: u32,
}

impl Security {
    /// Reads the answer to `IDENTIFY DEVICE`.
    pub fn read(block: &[u8; BLOCK]) -> Self {
        let word = |number: usize| u16::from_le_bytes([block[number * 2], block[number * 2 + 1]]);
        let status = word(128);
        let bit = |number: u16| status >> number & 1 == 1;
        let enhanced = bit(5);
        let time = word(if enhanced { 90 } else { 89 });
        // With the highest bit the other fifteen count, without it eight; in two minutes.
        let units = if time >> 15 == 1 { time & 0x7fff } else { time & 0xff };
        Self {
            supported: word(82) & 0b10 != 0 && bit(0),
            enabled: bit(1),
            locked: bit(2),
            frozen: bit(3),
            enhanced,
            minutes: u32::from(units) * 2,
        }
    }

    /// How long to wait for an erase. What the disk says is no promise.
    fn erase_time(&self) -> Duration {
        match self.minutes {
            0 => ERASE_TIME_MAX,
            minutes => Duration::from_secs(60 * (2 * u64::from(minutes) + 10)).min(ERASE_TIME_MAX),
        }
    }
}

/// What a disk says of its security.
///
/// # Errors
/// It does not answer: it is no ATA disk.
pub fn security(port: &mut dyn Port) -> Result<Security> {
    Ok(Security::read(&port.read(IDENTIFY, ANSWER).context("the disk does not identify itself")?))
}

/// Has the disk erase itself, all that it has put aside too when it can.
///
/// # Errors
/// It cannot, and why; it has no password then, but for one that was somebody else's, unless the error says otherwise.
pub fn erase(port: &mut dyn Port) -> Result<()> {
    let mut known = security(port)?;
    if !known.supported {
        bail!("the disk has no secure erase");
    }
    if known.frozen {
        bail!("the disk's security is frozen by the firmware until its power was off");
    }
    if known.enabled {
        reopen(port, known)?;
        known = security(port)?;
    }
    port.write(SET_PASSWORD, &with_password(0), ANSWER).context("the disk takes no password")?;
    let Err(error) = erase_unit(port, known) else { return Ok(()) };
    // Without an answer the password is tried all the same.
    let now = security(port).unwrap_or_default();
    match reopen(port, now) {
        Ok(()) => Err(error.context("the disk did not erase itself")),
        Err(open) => Err(error.context(format!(
            "the disk did not erase itself, and keeps the password {}: {open:#}",
            password()
        ))),
    }
}

fn erase_unit(port: &mut dyn Port, known: Security) -> Result<()> {
    port.send(ERASE_PREPARE, ANSWER).context("ERASE PREPARE")?;
    let block = with_password(if known.enhanced { 0b10 } else { 0 });
    port.write(ERASE_UNIT, &block, known.erase_time()).context("ERASE UNIT")?;
    // An erase that was done has taken the password away.
    if security(port)?.enabled {
        bail!("the disk says that it is erased, and still has the password");
    }
    Ok(())
}

/// Takes our password away.
fn reopen(port: &mut dyn Port, known: Security) -> Result<()> {
    if known.locked {
        port.write(UNLOCK, &with_password(0), ANSWER)
            .context("the disk is locked by a password that is not ours")?;
    }
    port.write(DISABLE_PASSWORD, &with_password(0), ANSWER).context("the disk keeps a password")
}

/// The block of a command: its first word, then the password.
fn with_password(word: u8) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[0] = word;
    block[2..2 + PASSWORD.len()].copy_from_slice(PASSWORD);
    block
}

fn password() -> String {
    String::from_utf8_lossy(PASSWORD).trim_end_matches('\0').to_owned()
}

#[cfg(test)]
mod tests;
