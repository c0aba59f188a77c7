//! The wire format of protobuf.

/// The value of a field in the wire format.
#[derive(Debug, Clone, Copy)]
pub enum Wire<'a> {
    /// Integers and booleans.
    Varint(u64),
    /// Texts, bytes and nested messages.
    Bytes(&'a [u8]),
    /// Numbers of fixed size, which no supported kind has.
    Fixed,
}

impl<'a> Wire<'a> {
    /// Returns the bytes of a length-delimited field.
    pub fn bytes(self) -> Result<&'a [u8], String> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err("expected a length-delimited field".to_owned()),
        }
    }

    /// Returns the text of a length-delimited field.
    pub fn text(self) -> Result<&'a str, String> {
        std::str::from_utf8(self.bytes()?).map_err(|error| error.to_string())
    }

    /// Returns the value of a varint field as a signed integer.
    pub fn integer(self) -> Result<i64, String> {
        match self {
            Self::Varint(number) => Ok(number.cast_signed()),
            _ => Err("expected a varint field".to_owned()),
        }
    }
}

/// Reads the fields of one message.
pub struct Reader<'a>(&'a [u8]);

/// Writes the fields of one message.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// Writes a text, bytes or a nested message.
    pub fn bytes(&mut self, number: u64, bytes: &[u8]) {
        self.number(number << 3 | 2);
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Writes a 64-bit floating point number.
    pub fn double(&mut self, number: u64, value: f64) {
        self.number(number << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes an integer or a boolean.
    pub fn varint(&mut self, number: u64, value: u64) {
        self.number(number << 3);
        self.number(value);
    }

    fn number(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

const TRUNCATED: &str = "the message ends in the middle of a field";

impl<'a> Reader<'a> {
    /// Creates a reader of the message `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the number and the value of the next field, or `None` at the end.
    pub fn field(&mut self) -> Result<Option<(u64, Wire<'a>)>, String> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => self.take(8).map(|_| Wire::Fixed)?,
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| TRUNCATED)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Wire::Fixed)?,
            other => return Err(format!("unknown wire type {other}")),
        };
        Ok(Some((tag >> 3, wire)))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a varint is longer than 64 bits".to_owned())
    }
}
