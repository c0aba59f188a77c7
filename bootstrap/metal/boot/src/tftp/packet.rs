//! Reads and writes TFTP messages.

use crate::limits;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A read request.
    Read(Request),
    /// A write request, which is always refused.
    Write,
    /// The client has received all blocks up to this number.
    Acknowledge(u16),
    /// The client aborts the transfer, with an error code and a text.
    Error(u16, String),
}

/// A read request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The name of the file, without a leading slash.
    pub file: String,
    /// The options that the client requests.
    pub options: Options,
}

/// The known options of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The block size in bytes.
    pub block: Option<usize>,
    /// The number of blocks that are sent without waiting for an acknowledgement.
    pub window: Option<usize>,
    /// Seconds before a block is sent again.
    pub timeout: Option<u8>,
    /// Whether the client asks for the size of the file.
    pub size: bool,
}

/// The block size in bytes if none is negotiated.
pub const BLOCK: usize = 512;

/// The error codes.
pub mod code {
    #![allow(missing_docs, reason = "the names say it")]
    pub const NOT_FOUND: u16 = 1;
    pub const NOT_PERMITTED: u16 = 2;
}

impl Message {
    /// Reads a message; `None` if it is not a message of a client.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (operation, rest) = bytes.split_first_chunk::<2>()?;
        let number = || rest.first_chunk::<2>().map(|number| u16::from_be_bytes(*number));
        match u16::from_be_bytes(*operation) {
            1 => Request::read(rest).map(Self::Read),
            2 => Some(Self::Write),
            4 => Some(Self::Acknowledge(number()?)),
            5 => {
                let text = rest.get(2..).and_then(|text| text.split(|byte| *byte == 0).next());
                Some(Self::Error(number()?, String::from_utf8_lossy(text.unwrap_or_default()).into_owned()))
            }
            _ => None,
        }
    }
}

impl Request {
    /// Reads a request; `None` if it is malformed.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.split(|byte| *byte == 0);
        let file = words.next()?;
        // The boot file name in a DHCP option does not end with a zero byte, and some firmware reads the byte behind it, which is the
        // end option (255).
        let file = std::str::from_utf8(file.strip_suffix(&[0xff]).unwrap_or(file)).ok()?;
        let mode = words.next()?;
        if file.is_empty() || !(mode.eq_ignore_ascii_case(b"octet") || mode.eq_ignore_ascii_case(b"netascii"))
        {
            return None;
        }
        let mut options = Options::default();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            let number = std::str::from_utf8(value).ok().and_then(|value| value.parse::<usize>().ok());
            match (name.to_ascii_lowercase().as_slice(), number) {
                // The standard requires blocks of at least eight bytes.
                (b"blksize", Some(size @ 8..=65464)) => options.block = Some(size.min(limits::BLOCK)),
                (b"windowsize", Some(blocks @ 1..=65535)) => {
                    options.window = Some(blocks.min(limits::WINDOW))
                }
                // A request for a longer timeout is ignored: the option is not acknowledged, and the default applies.
                (b"timeout", Some(seconds @ 1..=255))
                    if seconds as u64 <= limits::TFTP_PATIENCE_MAX.as_secs() =>
                {
                    options.timeout = u8::try_from(seconds).ok();
                }
                (b"tsize", Some(_)) => options.size = true,
                _ => {}
            }
        }
        Some(Self { file: file.trim_start_matches('/').to_owned(), options })
    }
}

impl Options {
    /// Returns the acknowledgement of the options; `None` if no known option was requested, so that the first block is the answer.
    pub fn acknowledgement(&self, size: u64) -> Option<Vec<u8>> {
        if *self == Self::default() {
            return None;
        }
        let mut bytes = vec![0, 6];
        let mut add = |name: &str, value: Option<u64>| {
            if let Some(value) = value {
                bytes.extend(format!("{name}\0{value}\0").bytes());
            }
        };
        let number = |value: Option<usize>| value.and_then(|value| u64::try_from(value).ok());
        add("blksize", number(self.block));
        add("windowsize", number(self.window));
        add("timeout", self.timeout.map(u64::from));
        add("tsize", self.size.then_some(size));
        Some(bytes)
    }
}

/// Writes the header of a data block; the caller appends the content.
pub fn data(number: u16, bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.extend([0, 3]);
    bytes.extend(number.to_be_bytes());
}

/// Returns an error message.
pub fn error(code: u16, text: &str) -> Vec<u8> {
    let mut bytes = vec![0, 5];
    bytes.extend(code.to_be_bytes());
    bytes.extend(text.bytes());
    bytes.push(0);
    bytes
}
