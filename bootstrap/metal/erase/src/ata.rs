//! The secure erase of the ATA security feature set (ATA/ATAPI Command Set 4, §7.41 to §7.46), through SCSI's ATA PASS-THROUGH (SAT-4,
//! §12.2).
//!
//! A disk accepts the erase command only if a password is set. The password is always the same, so that a disk that lost power during
//! its erase, and is locked since, can be unlocked by the next attempt.

use std::fs::File;
use std::io;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::call::{self, Data};

/// The opcode of `IDENTIFY DEVICE`.
pub const IDENTIFY: u8 = 0xec;
/// The opcode of `SECURITY SET PASSWORD`.
pub const SET_PASSWORD: u8 = 0xf1;
/// The opcode of `SECURITY UNLOCK`.
pub const UNLOCK: u8 = 0xf2;
/// The opcode of `SECURITY ERASE PREPARE`.
pub const ERASE_PREPARE: u8 = 0xf3;
/// The opcode of `SECURITY ERASE UNIT`.
pub const ERASE_UNIT: u8 = 0xf4;
/// The opcode of `SECURITY DISABLE PASSWORD`.
pub const DISABLE_PASSWORD: u8 = 0xf6;
/// The size of a data block of a command in bytes.
pub const BLOCK: usize = 512;
/// The password, which is set before the erase and removed by it.
pub const PASSWORD: &[u8; 32] = b"firstlight\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// The timeout of a command that the disk carries out at once; it may have to spin up.
const ANSWER: Duration = Duration::from_secs(30);
/// The longest time of an erase, also if the disk does not report a time.
const ERASE_TIME_MAX: Duration = Duration::from_secs(24 * 3600);

/// The interface that sends commands to a disk.
pub trait Port {
    /// Sends a command without data.
    ///
    /// # Errors
    /// The disk did not carry out the command.
    fn send(&mut self, command: u8, timeout: Duration) -> io::Result<()>;

    /// Sends a command with a data block for the disk.
    ///
    /// # Errors
    /// The disk did not carry out the command.
    fn write(&mut self, command: u8, block: &[u8; BLOCK], timeout: Duration) -> io::Result<()>;

    /// Sends a command to which the disk returns a data block.
    ///
    /// # Errors
    /// The disk did not carry out the command.
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

/// The data of a command.
#[derive(Clone, Copy)]
pub enum Transfer {
    /// No data.
    None,
    /// One data block from the disk.
    In,
    /// One data block for the disk.
    Out,
}

/// Returns the CDB of `ATA PASS-THROUGH (16)` for a command with one data block or none, in PIO mode.
pub fn pass_through(command: u8, transfer: Transfer) -> [u8; 16] {
    // The protocol, the flags (direction of the data, counted in blocks by the field "count"), and the count.
    let (protocol, flags, count) = match transfer {
        Transfer::None => (3, 0, 0),
        Transfer::In => (4, 0b1110, 1),
        Transfer::Out => (5, 0b0110, 1),
    };
    let mut bytes = [0; 16];
    (bytes[0], bytes[1], bytes[2], bytes[6], bytes[14]) = (0x85, protocol << 1, flags, count, command);
    bytes
}

/// The security state of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Security {
    /// The disk supports the security feature set.
    pub supported: bool,
    /// A password is set.
    pub enabled: bool,
    /// The disk is locked by its password.
    pub locked: bool,
    /// The state cannot be changed until the next power cycle.
    pub frozen: bool,
    /// The enhanced erase is supported, which also covers reallocated sectors.
    pub enhanced: bool,
    /// The time of an erase in minutes, as the disk reports it; 0 if it does not.
    pub minutes: u32,
}

impl Security {
    /// Parses the answer to `IDENTIFY DEVICE`.
    pub fn read(block: &[u8; BLOCK]) -> Self {
        let word = |number: usize| u16::from_le_bytes([block[number * 2], block[number * 2 + 1]]);
        let status = word(128);
        let bit = |number: u16| status >> number & 1 == 1;
        let enhanced = bit(5);
        let time = word(if enhanced { 90 } else { 89 });
        // If the highest bit is set, the other fifteen bits count, otherwise the low eight; the unit is two minutes.
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

    /// Returns the timeout of an erase. The reported time is only an estimate, so it is doubled.
    pub fn erase_time(&self) -> Duration {
        match self.minutes {
            0 => ERASE_TIME_MAX,
            minutes => Duration::from_secs(60 * (2 * u64::from(minutes) + 10)).min(ERASE_TIME_MAX),
        }
    }
}

/// Returns the security state of a disk.
///
/// # Errors
/// The disk does not answer, for example because it is not an ATA disk.
pub fn security(port: &mut dyn Port) -> Result<Security> {
    Ok(Security::read(&port.read(IDENTIFY, ANSWER).context("the disk does not identify itself")?))
}

/// Makes the disk erase itself, with the enhanced erase if it supports that.
///
/// # Errors
/// The disk cannot erase itself; the message says why. Afterwards the disk has no password, except for one that another program has
/// set, or if the error says so.
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
    // If the disk does not answer, removing the password is still tried.
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
    // A successful erase has removed the password.
    if security(port)?.enabled {
        bail!("the disk says that it is erased, and still has the password");
    }
    Ok(())
}

/// Unlocks the disk if necessary, and removes the password.
fn reopen(port: &mut dyn Port, known: Security) -> Result<()> {
    if known.locked {
        port.write(UNLOCK, &with_password(0), ANSWER)
            .context("the disk is locked by a password that is not ours")?;
    }
    port.write(DISABLE_PASSWORD, &with_password(0), ANSWER).context("the disk keeps a password")
}

/// Returns the data block of a command: its first word, and the password.
fn with_password(word: u8) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[0] = word;
    block[2..2 + PASSWORD.len()].copy_from_slice(PASSWORD);
    block
}

fn password() -> String {
    String::from_utf8_lossy(PASSWORD).trim_end_matches('\0').to_owned()
}
