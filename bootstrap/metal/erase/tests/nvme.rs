//! Tests of `nvme`.

use std::io;

use metal_erase::nvme::{
    Command, Controller, EraseMethod, FORMAT, GET_LOG_PAGE, IDENTIFIED, IDENTIFY, OF_CONTROLLER, SANITIZE,
    SANITIZE_LOG_BYTES, erase, offers, sanitized,
};

/// A simulated disk: its data structures, the received commands, and its status for `Format NVM`.
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
    // FLBAS, DPS, the method, and the expected word.
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
