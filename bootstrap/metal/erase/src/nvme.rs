//! NVMe: a disk that forgets all that it holds by itself (NVM Express Base Specification 2.0, §5.14 Format NVM, §5.24 Sanitize).

use std::fs::File;
use std::io;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::call;

/// `Get Log Page`, `Identify`, `Format NVM`, `Sanitize`.
const GET_LOG_PAGE: u8 = 0x02;
const IDENTIFY: u8 = 0x06;
const FORMAT: u8 = 0x80;
const SANITIZE: u8 = 0x84;
/// What `Identify` tells of, in the lowest byte of its first word.
const OF_NAMESPACE: u32 = 0;
const OF_CONTROLLER: u32 = 1;
/// Bytes of what `Identify` tells.
const IDENTIFIED: usize = 4096;
/// The log page of `Sanitize`, and its bytes.
const SANITIZE_LOG: u32 = 0x81;
const SANITIZE_LOG_BYTES: usize = 512;
/// A question that the controller answers at once.
const ANSWER: Duration = Duration::from_secs(30);
/// Formatting writes each block of disks that cannot forget a key.
const FORMAT_TIME: Duration = Duration::from_secs(6 * 3600);

/// Who takes commands.
pub trait Controller {
    /// Sends an admin command and fills `data`: the status of its answer, 0 when it was done.
    ///
    /// # Errors
    /// The command did not get there.
    fn submit(&mut self, command: &Command, data: &mut [u8]) -> io::Result<u16>;
}

/// An admin command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Which.
    pub opcode: u8,
    /// Of which namespace; 0 where it is of none.
    pub namespace: u32,
    /// Its words 10 to 15.
    pub words: [u32; 6],
    /// How long it may take.
    pub timeout: Duration,
}

impl Controller for &File {
    fn submit(&mut self, command: &Command, data: &mut [u8]) -> io::Result<u16> {
        let what = (command.opcode, command.namespace);
        call::nvme_admin(self, what, command.words, data, command.timeout)
    }
}

/// How a disk can erase itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraseMethod {
    /// `Format NVM` that forgets the key of what is encrypted on the disk.
    FormatCrypto,
    /// `Format NVM` that erases the user's data.
    Format,
    /// `Sanitize`: forgets the key.
    SanitizeCrypto,
    /// `Sanitize`: erases all blocks.
    SanitizeBlocks,
}

impl EraseMethod {
    /// As people say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::FormatCrypto => "NVMe format (cryptographic erase)",
            Self::Format => "NVMe format (user data erase)",
            Self::SanitizeCrypto => "NVMe sanitize (cryptographic erase)",
            Self::SanitizeBlocks => "NVMe sanitize (block erase)",
        }
    }
}

/// The ways that a controller says it has, from what `Identify` tells of it.
pub fn methods(controller: &[u8; IDENTIFIED]) -> Vec<EraseMethod> {
    // OACS, FNA and SANICAP.
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

/// What a controller offers.
///
/// # Errors
/// It does not say who it is.
pub fn offers(controller: &mut dyn Controller) -> Result<Vec<EraseMethod>> {
    Ok(methods(&identify(controller, 0, OF_CONTROLLER)?))
}

/// Erases the namespace `namespace`, or, with `Sanitize`, all that the controller has. `Format NVM` is over when this returns; of `Sanitize`
/// [`sanitized`] says how far it is.
///
/// # Errors
/// The disk refuses: with what status.
pub fn erase(controller: &mut dyn Controller, namespace: u32, method: EraseMethod) -> Result<()> {
    match method {
        EraseMethod::FormatCrypto | EraseMethod::Format => {
            let word = format_word(&identify(controller, namespace, OF_NAMESPACE)?, method);
            let command =
                Command { opcode: FORMAT, namespace, words: [word, 0, 0, 0, 0, 0], timeout: FORMAT_TIME };
            done(controller, &command, &mut [])
        }
        EraseMethod::SanitizeCrypto | EraseMethod::SanitizeBlocks => {
            // Action 4 and 2; without "allow unrestricted sanitize exit", so that a disk that failed says so until it is tried again.
            let action = if method == EraseMethod::SanitizeCrypto { 4 } else { 2 };
            let command =
                Command { opcode: SANITIZE, namespace: 0, words: [action, 0, 0, 0, 0, 0], timeout: ANSWER };
            done(controller, &command, &mut [])
        }
    }
}

/// The first word of `Format NVM` that keeps the namespace's blocks as they are: its format, its metadata, its protection.
fn format_word(namespace: &[u8; IDENTIFIED], method: EraseMethod) -> u32 {
    let (size, protection) = (u32::from(namespace[26]), u32::from(namespace[29]));
    // FLBAS: bits 3:0 and 6:5 are the format's number, bit 4 says that metadata goes with the data. DPS: bits 2:0 the type, bit 3 the place.
    let (low, metadata, high) = (size & 0x0f, size >> 4 & 1, size >> 5 & 0b11);
    let (kind, first) = (protection & 0b111, protection >> 3 & 1);
    let erase = if method == EraseMethod::FormatCrypto { 2 } else { 1 };
    low | metadata << 4 | kind << 5 | first << 8 | erase << 9 | high << 12
}

/// How far `Sanitize` is: done of 65536; `None` when it is over.
///
/// # Errors
/// It failed, or the disk does not say.
pub fn sanitized(controller: &mut dyn Controller) -> Result<Option<u16>> {
    let mut page = [0; SANITIZE_LOG_BYTES];
    // Its length in words of four bytes, less one.
    let word = SANITIZE_LOG | 127 << 16;
    let command =
        Command { opcode: GET_LOG_PAGE, namespace: u32::MAX, words: [word, 0, 0, 0, 0, 0], timeout: ANSWER };
    done(controller, &command, &mut page)?;
    match page[2] & 0b111 {
        // Done, and done without telling that blocks are free.
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
    // The lower eleven bits: the kind of status, and the status; the bits above say whether to try again.
    ensure!(
        status == 0,
        "the disk refuses command {:#04x} with status {:#05x}",
        command.opcode,
        status & 0x7ff
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk: what it says of itself, what it was told, what it answers to `Format NVM`.
    struct Disk {
        controller: [u8; IDENTIFIED],
        namespace: [u8; IDENTIFIED],
        page: [u8; SANITIZE_LOG_BYTES],
        told: Vec<Command>,
        status: u16,
    }

    impl Controller for Disk {
        fn submit(&mut self, command: &Command, data: &mut [u8]) -> io::Result<u16> {
            match (command.opcode, command.words[0]) {
                (IDENTIFY, OF_CONTROLLER) => data.copy_from_slice(&self.controller),
                (IDENTIFY, _) => data.copy_from_slice(&self.namespace),
                (GET_LOG_PAGE, _) => data.copy_from_slice(&self.page),
                _ => {
                    self.told.push(command.clone());
                    return Ok(self.status);
                }
            }
            Ok(0)
        }
    }

    fn disk(oacs: u8, fna: u8, sanicap: u8) -> Disk {
        let mut disk = Disk {
            controller: [0; IDENTIFIED],
            namespace: [0; IDENTIFIED],
            page: [0; SANITIZE_LOG_BYTES],
            told: Vec::new(),
            status: 0,
        };
        (disk.controller[256], disk.controller[524], disk.controller[328]) = (oacs, fna, sanicap);
        disk
    }

    #[test]
    fn what_a_disk_offers() {
        use EraseMethod::*;
        let cases: [(u8, u8, u8, &[EraseMethod]); 4] = [
            (0, 4, 0, &[]),
            (2, 0, 0, &[Format]),
            (2, 4, 3, &[FormatCrypto, Format, SanitizeCrypto, SanitizeBlocks]),
            (0, 0, 6, &[SanitizeBlocks]),
        ];
        for (oacs, fna, sanicap, expected) in cases {
            assert_eq!(offers(&mut disk(oacs, fna, sanicap)).unwrap(), expected);
        }
    }

    #[test]
    fn blocks_stay_as_they_were_formatted() {
        // FLBAS, DPS, the way, and the word.
        let cases = [
            (0, 0, EraseMethod::Format, 1 << 9),
            (2, 0, EraseMethod::FormatCrypto, 2 << 9 | 2),
            (0b0111_0001, 0b1010, EraseMethod::Format, 1 << 9 | 1 | 1 << 4 | 2 << 5 | 1 << 8 | 3 << 12),
        ];
        for (size, protection, method, expected) in cases {
            let mut disk = disk(2, 4, 0);
            (disk.namespace[26], disk.namespace[29]) = (size, protection);
            erase(&mut disk, 7, method).unwrap();
            let [told] = disk.told.as_slice() else { panic!("{:?}", disk.told) };
            assert_eq!((told.opcode, told.namespace, told.words[0]), (FORMAT, 7, expected));
        }
    }

    #[test]
    fn a_disk_that_refuses_says_how() {
        let mut disk = disk(2, 0, 0);
        disk.status = 0x4005;
        let error = erase(&mut disk, 1, EraseMethod::Format).unwrap_err().to_string();
        assert!(error.contains("0x80") && error.contains("0x005"), "{error}");
    }

    #[test]
    fn how_far_sanitize_is() {
        let mut disk = disk(0, 0, 3);
        erase(&mut disk, 1, EraseMethod::SanitizeBlocks).unwrap();
        assert_eq!((disk.told[0].opcode, disk.told[0].words[0]), (SANITIZE, 2));
        let cases = [(1, Some(None)), (4, Some(None)), (2, Some(Some(0x1234))), (3, None), (0, None)];
        for (state, expected) in cases {
            disk.page[..4].copy_from_slice(&[0x34, 0x12, state, 0]);
            assert_eq!(sanitized(&mut disk).ok(), expected, "{state}");
        }
    }
}
