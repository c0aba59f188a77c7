//! Tests of `ata`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::io;
use std::time::Duration;

use metal_erase::ata::{
    BLOCK, DISABLE_PASSWORD, ERASE_PREPARE, ERASE_UNIT, IDENTIFY, PASSWORD, Port, SET_PASSWORD, Security,
    Transfer, UNLOCK, erase, pass_through,
};

/// A disk with the states of the security feature set, as the standard defines them.
#[derive(Default)]
struct Disk {
    security: Security,
    password: Option<[u8; 32]>,
    is_prepared: bool,
    /// The command that fails.
    broken: Option<u8>,
    /// Whether the power is cut after the failing command, which locks a disk with a password.
    loses_power: bool,
    erased: Option<bool>,
}

impl Disk {
    fn new() -> Self {
        Self { security: Security { supported: true, minutes: 4, ..Security::default() }, ..Self::default() }
    }

    fn step(&mut self, command: u8) -> io::Result<()> {
        if self.broken == Some(command) {
            if self.loses_power {
                self.security.locked = self.password.is_some();
            }
            return Err(io::Error::other("aborted"));
        }
        if self.security.frozen {
            return Err(io::Error::other("frozen"));
        }
        Ok(())
    }
}

impl Port for Disk {
    fn send(&mut self, command: u8, _: Duration) -> io::Result<()> {
        self.step(command)?;
        assert_eq!(command, ERASE_PREPARE);
        self.is_prepared = true;
        Ok(())
    }

    fn write(&mut self, command: u8, block: &[u8; BLOCK], timeout: Duration) -> io::Result<()> {
        self.step(command)?;
        let given: [u8; 32] = block[2..34].try_into().unwrap();
        let is_prepared = std::mem::take(&mut self.is_prepared);
        let is_right = self.password == Some(given);
        match command {
            SET_PASSWORD if !self.security.locked => self.password = Some(given),
            UNLOCK if is_right => self.security.locked = false,
            DISABLE_PASSWORD if is_right && !self.security.locked => self.password = None,
            ERASE_UNIT if is_right && is_prepared && timeout >= Duration::from_secs(240) => {
                self.password = None;
                self.erased = Some(block[0] & 0b10 != 0);
            }
            _ => return Err(io::Error::other("aborted")),
        }
        Ok(())
    }

    fn read(&mut self, command: u8, _: Duration) -> io::Result<[u8; BLOCK]> {
        assert_eq!(command, IDENTIFY);
        let known = self.security;
        let mut block = [0; BLOCK];
        block[82 * 2] = if known.supported { 2 } else { 0 };
        let enabled = self.password.is_some();
        let bits = [known.supported, enabled, known.locked, known.frozen, false, known.enhanced];
        block[128 * 2] = bits.iter().enumerate().map(|(number, bit)| u8::from(*bit) << number).sum();
        let word = if known.enhanced { 90 } else { 89 };
        block[word * 2] = u8::try_from(known.minutes / 2).unwrap();
        Ok(block)
    }
}

#[test]
fn a_disk_erases_itself_and_has_no_password_afterwards() {
    for enhanced in [false, true] {
        let mut disk = Disk::new();
        disk.security.enhanced = enhanced;
        erase(&mut disk).unwrap();
        assert_eq!((disk.erased, disk.password), (Some(enhanced), None));
    }
}

#[test]
fn a_disk_that_cannot_says_why_and_is_left_without_a_password() {
    type Case = (&'static str, fn(&mut Disk), &'static str);
    let cases: [Case; 6] = [
        ("without security", |disk| disk.security.supported = false, "no secure erase"),
        ("frozen", |disk| disk.security.frozen = true, "frozen"),
        ("no password", |disk| disk.broken = Some(SET_PASSWORD), "takes no password"),
        ("not prepared", |disk| disk.broken = Some(ERASE_PREPARE), "ERASE PREPARE"),
        ("not erased", |disk| disk.broken = Some(ERASE_UNIT), "ERASE UNIT"),
        (
            "not erased, and without power for a moment",
            |disk| (disk.broken, disk.loses_power) = (Some(ERASE_UNIT), true),
            "ERASE UNIT",
        ),
    ];
    for (name, make, expected) in cases {
        let mut disk = Disk::new();
        make(&mut disk);
        let error = format!("{:#}", erase(&mut disk).unwrap_err());
        assert!(error.contains(expected), "{name}: {error}");
        assert_eq!((disk.erased, disk.password, disk.security.locked), (None, None, false), "{name}");
    }
}

#[test]
fn passwords_that_are_there() {
    // The password was left by an attempt that a power cut ended.
    let mut own = Disk { password: Some(*PASSWORD), ..Disk::new() };
    own.security.locked = true;
    erase(&mut own).unwrap();
    assert_eq!((own.erased, own.password), (Some(false), None));
    let mut other = Disk { password: Some([7; 32]), ..Disk::new() };
    other.security.locked = true;
    let error = format!("{:#}", erase(&mut other).unwrap_err());
    assert!(error.contains("not ours"), "{error}");
    assert_eq!(other.password, Some([7; 32]));
}

/// A disk that does not erase anything and never removes its password.
#[test]
fn a_password_that_cannot_be_taken_away_is_told() {
    struct Stubborn(Disk);
    impl Port for Stubborn {
        fn send(&mut self, command: u8, timeout: Duration) -> io::Result<()> {
            self.0.send(command, timeout)
        }
        fn write(&mut self, command: u8, block: &[u8; BLOCK], timeout: Duration) -> io::Result<()> {
            if [ERASE_UNIT, DISABLE_PASSWORD].contains(&command) {
                return Err(io::Error::other("aborted"));
            }
            self.0.write(command, block, timeout)
        }
        fn read(&mut self, command: u8, timeout: Duration) -> io::Result<[u8; BLOCK]> {
            self.0.read(command, timeout)
        }
    }
    let error = format!("{:#}", erase(&mut Stubborn(Disk::new())).unwrap_err());
    assert!(error.contains("keeps the password firstlight"), "{error}");
}

#[test]
fn the_bytes_of_a_command() {
    let bytes = |command, transfer| pass_through(command, transfer);
    assert_eq!(bytes(IDENTIFY, Transfer::In), [0x85, 8, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xec, 0]);
    assert_eq!(bytes(SET_PASSWORD, Transfer::Out), [0x85, 10, 6, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xf1, 0]);
    assert_eq!(bytes(ERASE_PREPARE, Transfer::None), [0x85, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf3, 0]);
}

#[test]
fn times_of_an_erase() {
    for (word, minutes) in [(0u16, 0), (30, 60), (255, 510), (0x8000 | 400, 800)] {
        let mut block = [0; BLOCK];
        block[89 * 2..][..2].copy_from_slice(&word.to_le_bytes());
        let known = Security::read(&block);
        assert_eq!(known.minutes, minutes);
        assert!(known.erase_time() >= Duration::from_secs(60 * u64::from(minutes)));
    }
}
