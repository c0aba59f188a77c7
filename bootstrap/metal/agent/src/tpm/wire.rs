//! Messages of a TPM (TCG, TPM 2.0 Library, Part 1 §18 and Part 3): numbers are big-endian, and a length precedes variable data.

use anyhow::{Context, Result, ensure};

/// The tags of messages with and without authorisations (`TPM_ST_SESSIONS`, `TPM_ST_NO_SESSIONS`).
const WITH: u16 = 0x8002;
const WITHOUT: u16 = 0x8001;
/// The length of a message's header in bytes: tag, length, and code.
const HEADER: usize = 10;

/// A message that is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(Vec<u8>);

impl Message {
    /// Adds a number of one byte.
    pub fn u8(mut self, number: u8) -> Self {
        self.0.push(number);
        self
    }

    /// Adds a number of two bytes.
    pub fn u16(mut self, number: u16) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    /// Adds a number of four bytes.
    pub fn u32(mut self, number: u32) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    /// Adds bytes.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds bytes after their count of two bytes (`TPM2B`), at most 65535.
    pub fn sized(self, bytes: &[u8]) -> Self {
        let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        self.u16(length).bytes(&bytes[..usize::from(length)])
    }

    /// Returns the bytes of the message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Returns a command with its code, the handles of its objects, its authorisations, and its parameters.
pub fn command(code: u32, handles: &[u32], authorisations: &[Authorisation], parameters: Message) -> Vec<u8> {
    let mut body = Message::default();
    for handle in handles {
        body = body.u32(*handle);
    }
    if !authorisations.is_empty() {
        let all = authorisations.iter().fold(Message::default(), |area, one| one.write(area)).into_bytes();
        body = body.u32(u32::try_from(all.len()).unwrap_or(u32::MAX)).bytes(&all);
    }
    let body = body.bytes(&parameters.into_bytes()).into_bytes();
    let tag = if authorisations.is_empty() { WITHOUT } else { WITH };
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    Message::default().u16(tag).u32(length).u32(code).bytes(&body).into_bytes()
}

/// An authorisation of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorisation {
    /// The empty password.
    Password,
    /// A session whose policy is satisfied; it ends with the command.
    Session(u32),
}

impl Authorisation {
    /// Writes handle, nonce, attributes, and HMAC of the authorisation.
    fn write(self, area: Message) -> Message {
        let handle = match self {
            Self::Password => 0x4000_0009,
            Self::Session(handle) => handle,
        };
        area.u32(handle).sized(&[]).u8(0).sized(&[])
    }
}

/// An answer that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Returns a reader of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes that have not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// Returns the next `length` bytes.
    ///
    /// # Errors
    /// Fewer bytes are left.
    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).context("the TPM's answer is too short")?;
        self.0 = rest;
        Ok(taken)
    }

    /// Returns a number of two bytes.
    ///
    /// # Errors
    /// Fewer bytes are left.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.bytes(2)?.try_into()?))
    }

    /// Returns a number of four bytes.
    ///
    /// # Errors
    /// Fewer bytes are left.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.bytes(4)?.try_into()?))
    }

    /// Returns bytes after their count of two bytes.
    ///
    /// # Errors
    /// Fewer bytes are left.
    pub fn sized(&mut self) -> Result<&'a [u8]> {
        let length = self.u16()?;
        self.bytes(length.into())
    }
}

/// Parses an answer: returns its `handles` handles, and a reader of its parameters.
///
/// # Errors
/// The TPM reports an error, or the answer is malformed.
pub fn answer(bytes: &[u8], handles: usize) -> Result<(Vec<u32>, Reader<'_>)> {
    let mut reader = Reader::new(bytes);
    let (tag, length, code) = (reader.u16()?, reader.u32()?, reader.u32()?);
    ensure!(code == 0, "the TPM answers with code {code:#x}");
    ensure!(
        usize::try_from(length)? == bytes.len(),
        "the TPM's answer is {} bytes and says {length}",
        bytes.len()
    );
    let handles = (0..handles).map(|_| reader.u32()).collect::<Result<Vec<u32>>>()?;
    if tag == WITH {
        let length = usize::try_from(reader.u32()?)?;
        // The authorisations of the answer follow the parameters and are not needed.
        reader = Reader::new(reader.bytes(length)?);
    }
    Ok((handles, reader))
}
