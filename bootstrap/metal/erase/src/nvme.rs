//! NVMe: disks that erase themselves (NVM Express Base Specification 2.0, §5.14 Format NVM, §5.24 Sanitize).

use std::fs::File;
use std::io;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::call;

/// The opcode of `Get Log Page`.
pub const GET_LOG_PAGE: u8 = 0x02;
/// The opcode of `Identify`.
pub const IDENTIFY: u8 = 0x06;
/// The opcode of `Format NVM`.
pub const FORMAT: u8 = 0x80;
/// The opcode of `Sanitize`.
pub const SANITIZE: u8 = 0x84;
/// The structure that `Identify` returns (CNS), in the lowest byte of its first command word: that of a namespace.
const OF_NAMESPACE: u32 = 0;
/// The structure of the controller.
pub const OF_CONTROLLER: u32 = 1;
/// The size of such a structure in bytes.
pub const IDENTIFIED: usize = 4096;
/// The identifier of the log page of `Sanitize`.
const SANITIZE_LOG: u32 = 0x81;
/// The size of the log page of `Sanitize` in bytes.
pub const SANITIZE_LOG_BYTES: usize = 512;
/// The timeout of a command that the controller carries out at once.
const ANSWER: Duration = Duration::from_secs(30);
/// The timeout of a format: a disk that does not encrypt its data overwrites each block.
const FORMAT_TIME: Duration = Duration::from_secs(6 * 3600);

/// The interface that sends commands to a controller.
pub trait Controller {
    /// Sends an admin command, fills `data`, and returns the status: 0 if the command succeeded.
    ///
    /// # Errors
    /// The command could not be sent.
    fn submit(&mut self, command: &Command, data: &mut [u8]) -> io::Result<u16>;
}

/// An admin command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The opcode.
    pub opcode: u8,
    /// The namespace; 0 if the command is not for a namespace.
    pub namespace: u32,
    /// The command words 10 to 15.
    pub words: [u32; 6],
    /// The timeout.
    pub timeout: Duration,
}

impl Controller for &File {
    fn submit(&mut self, command: &Command, data: &mut [u8]) -> io::Result<u16> {
        let what = (command.opcode, command.namespace);
        call::nvme_admin(self, what, command.words, data, command.timeout)
    }
}

/// The method by which a disk erases itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraseMethod {
    /// `Format NVM` that discards the key of the encrypted data.
    FormatCrypto,
    /// `Format NVM` that erases the user data.
    Format,
    /// `Sanitize` that discards the key.
    SanitizeCrypto,
    /// `Sanitize` that erases all blocks.
    SanitizeBlocks,
}

impl EraseMethod {
    /// Returns the name of the method for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::FormatCrypto => "NVMe format (cryptographic erase)",
            Self::Format => "NVMe format (user data erase)",
            Self::SanitizeCrypto => "NVMe sanitize (cryptographic erase)",
            Self::SanitizeBlocks => "NVMe sanitize (block erase)",
        }
    }
}

/// Returns the methods that a controller supports, according to its `Identify` structure; the preferred one comes first.
pub fn methods(controller: &[u8; IDENTIFIED]) -> Vec<EraseMethod> {
    // The fields OACS, FNA and SANICAP.
    let has_format = controller[256] & 0b10 != 0;
    let has_key = controller[524] & 0b100 != 0;
    let sanitize = controller[328];
    [
        (has_format && has_key, EraseMethod::FormatCrypto),
        (has_format, EraseMethod::Format),
        (sanitize & 0b01 != 0, EraseMethod::SanitizeCrypto),
        (sanitize & 0b10 != 0, EraseMethod::SanitizeBlocks),
    ]
    .into_iter()
    .filter_map(|(has, method)| has.then_some(method))
    .collect()
}

/// Reads the methods that a controller supports.
///
/// # Errors
/// The controller does not answer `Identify`.
pub fn offers(controller: &mut dyn Controller) -> Result<Vec<EraseMethod>> {
    Ok(methods(&identify(controller, 0, OF_CONTROLLER)?))
}

/// Erases the namespace `namespace`, or, with `Sanitize`, everything that the controller has. `Format NVM` has ended when this returns;
/// the progress of `Sanitize` is returned by [`sanitized`].
///
/// # Errors
/// The disk refuses the command; the message has its status.
pub fn erase(controller: &mut dyn Controller, namespace: u32, method: EraseMethod) -> Result<()> {
    match method {
        EraseMethod::FormatCrypto | EraseMethod::Format => {
            let word = format_word(&identify(controller, namespace, OF_NAMESPACE)?, method);
            let command =
                Command { opcode: FORMAT, namespace, words: [word, 0, 0, 0, 0, 0], timeout: FORMAT_TIME };
            done(controller, &command, &mut [])
        }
        EraseMethod::SanitizeCrypto | EraseMethod::SanitizeBlocks => {
            // The actions 4 and 2, without "allow unrestricted sanitize exit", so that a failed disk reports the failure until the next
            // sanitize operation.
            let action = if method == EraseMethod::SanitizeCrypto { 4 } else { 2 };
            let command =
                Command { opcode: SANITIZE, namespace: 0, words: [action, 0, 0, 0, 0, 0], timeout: ANSWER };
            done(controller, &command, &mut [])
        }
    }
}

/// Returns the first command word of `Format NVM`, which keeps the namespace's block format, metadata and protection settings.
fn format_word(namespace: &[u8; IDENTIFIED], method: EraseMethod) -> u32 {
    let (size, protection) = (u32::from(namespace[26]), u32::from(namespace[29]));
    // FLBAS: bits 3:0 and 6:5 are the number of the format, bit 4 means that metadata is transferred with the data. DPS: bits 2:0 are
    // the type, bit 3 the position.
    let (low, metadata, high) = (size & 0x0f, size >> 4 & 1, size >> 5 & 0b11);
    let (kind, first) = (protection & 0b111, protection >> 3 & 1);
    let erase = if method == EraseMethod::FormatCrypto { 2 } else { 1 };
    low | metadata << 4 | kind << 5 | first << 8 | erase << 9 | high << 12
}

/// Returns the progress of `Sanitize` in parts of 65536, or `None` if it has ended.
///
/// # Errors
/// The operation failed, or the disk does not report its progress.
pub fn sanitized(controller: &mut dyn Controller) -> Result<Option<u16>> {
    let mut page = [0; SANITIZE_LOG_BYTES];
    // The length is in units of four bytes, minus one.
    let word = SANITIZE_LOG | 127 << 16;
    let command =
        Command { opcode: GET_LOG_PAGE, namespace: u32::MAX, words: [word, 0, 0, 0, 0, 0], timeout: ANSWER };
    done(controller, &command, &mut page)?;
    match page[2] & 0b111 {
        // The operation has succeeded, with or without deallocation of the blocks.
        1 | 4 => Ok(None),
        2 => Ok(Some(u16::from_le_bytes([page[0], page[1]]))),
        3 => bail!("the disk says that sanitize failed"),
        _ => bail!("the disk says that it was never sanitized, although it was told to"),
    }
}

fn identify(controller: &mut dyn Controller, namespace: u32, what: u32) -> Result<[u8; IDENTIFIED]> {
    let mut data = [0; IDENTIFIED];
    let command = Command { opcode: IDENTIFY, namespace, words: [what, 0, 0, 0, 0, 0], timeout: ANSWER };
    done(controller, &command, &mut data).context("cannot identify the disk")?;
    Ok(data)
}

fn done(controller: &mut dyn Controller, command: &Command, data: &mut [u8]) -> Result<()> {
    let status = controller.submit(command, data)?;
    // The low eleven bits are the status code type and the status code; the bits above say whether a retry may help.
    ensure!(
        status == 0,
        "the disk refuses command {:#04x} with status {:#05x}",
        command.opcode,
        status & 0x7ff
    );
    Ok(())
}
