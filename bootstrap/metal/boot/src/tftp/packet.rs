//! Messages of TFTP.

use crate::limits;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// It would like to read.
    Read(Request),
    /// It would like to write, which nobody may.
    Write,
    /// It has everything up to this block.
    Acknowledge(u16),
    /// It gives up, and says why.
    Error(u16, String),
}

/// A wish to read a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The file, without a slash at the front.
    pub file: String,
    /// What the client would like.
    pub options: Options,
}

/// Options, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Bytes of a block.
    pub block: Option<usize>,
    /// Blocks that are sent without waiting.
    pub window: Option<usize>,
    /// Seconds before a block is sent again.
    pub timeout: Option<u8>,
    /// Whether the client would like to know the size of the file.
    pub size: bool,
}

/// Bytes of a block when nothing else is agreed on.
pub const BLOCK: usize = 512;

/// Codes of errors.
pub mod code {
    #![allow(missing_docs, reason = "the names say it")]
    pub const NOT_FOUND: u16 = 1;
    pub const NOT_PERMITTED: u16 = 2;
}

impl Message {
    /// Reads a message; `None` for anything that a client does not say.
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
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.split(|byte| *byte == 0);
        let file = words.next()?;
        // The text of an option of DHCP does not end with a zero: some firmware reads one byte too many, the end of the options.
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
                // The standard has blocks of eight bytes at least.
                (b"blksize", Some(size @ 8..=65464)) => options.block = Some(size.min(limits::BLOCK)),
                (b"windowsize", Some(blocks @ 1..=65535)) => {
                    options.window = Some(blocks.min(limits::WINDOW))
                }
                // One who asks for more patience gets what there is for everybody: the option is not agreed on.
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
    /// The answer to a request with options; `None` when there are none that are known, and the first block is the answer.
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

/// Begins a block of data; the content follows.
pub fn data(number: u16, bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.extend([0, 3]);
    bytes.extend(number.to_be_bytes());
}

/// An error.
pub fn error(code: u16, text: &str) -> Vec<u8> {
    let mut bytes = vec![0, 5];
    bytes.extend(code.to_be_bytes());
    bytes.extend(text.bytes());
    bytes.push(0);
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes written with `|` for zero.
    fn bytes(text: &str) -> Vec<u8> {
        text.bytes().map(|byte| if byte == b'|' { 0 } else { byte }).collect()
    }

    #[test]
    fn requests_are_read() {
        let read = |file: &str, options| Some(Message::Read(Request { file: file.into(), options }));
        let none = Options::default();
        let all = Options { block: Some(1468), window: Some(4), timeout: Some(2), size: true };
        let cases = [
            ("|\u{1}a|octet|", read("a", none)),
            ("|\u{1}/a/b|OCTET|", read("a/b", none)),
            ("|\u{1}a|octet|tsize|0|BLKSIZE|9000|windowsize|4|timeout|2|other|x|", read("a", all)),
            ("|\u{1}a|octet|blksize|4|windowsize|0|timeout|256|tsize|x|", read("a", none)),
            ("|\u{1}a|octet|timeout|5|", read("a", Options { timeout: Some(5), ..none })),
            ("|\u{1}a|octet|timeout|6|", read("a", none)),
            ("|\u{1}a|octet|timeout|255|", read("a", none)),
            ("|\u{1}a|mail|", None),
            ("|\u{1}|octet|", None),
            ("|\u{2}a|octet|", Some(Message::Write)),
            ("|\u{4}\u{1}\u{2}", Some(Message::Acknowledge(258))),
            ("|\u{5}|\u{8}no|", Some(Message::Error(8, "no".into()))),
            ("|\u{4}\u{1}", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Message::read(&bytes(text)), expected, "{text:?}");
        }
        let one_too_many = [bytes("|\u{1}a").as_slice(), &[0xff], &bytes("|octet|")].concat();
        assert_eq!(Message::read(&one_too_many), read("a", none));
    }

    #[test]
    fn options_are_acknowledged() {
        assert_eq!(Options::default().acknowledgement(9), None);
        let all = Options { block: Some(1468), window: Some(4), timeout: None, size: true };
        let expected = bytes("|\u{6}blksize|1468|windowsize|4|tsize|9|");
        assert_eq!(all.acknowledgement(9), Some(expected));
    }

    proptest! {
        #[test]
        fn anything_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            Message::read(&bytes);
            let mut request = vec![0, 1];
            request.extend(bytes);
            Message::read(&request);
        }
    }
}
