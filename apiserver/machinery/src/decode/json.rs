//! A JSON parser that reports duplicate fields with their paths, converts numbers as Go's API machinery does, and has
//! the error messages of Go's decoder.

use serde_json::{Map, Value};

use super::document::{Decoded, Format, LONG_PATHS, number};
use super::problems::Problems;
use crate::limits::{MAX_DEPTH, MAX_PATHS_TEXT};

/// Decodes one JSON document. The error is a message of Go's decoder.
pub fn json(bytes: &[u8]) -> Result<Decoded, String> {
    let mut reader = Reader::new(bytes);
    let value = reader.value()?;
    reader.space();
    match reader.peek() {
        None => {
            let problems = reader.problems.into_paths();
            let problems = problems.into_iter().map(|path| format!("duplicate field {path:?}")).collect();
            Ok(Decoded { value, problems, format: Format::Json })
        }
        Some(byte) => Err(invalid(byte, "after top-level value")),
    }
}

const END: &str = "unexpected end of JSON input";

enum Step {
    /// The offset of the field name in the text, after its opening quote.
    Field(usize),
    Index(usize),
}

struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    depth: usize,
    path: Vec<Step>,
    /// The number of bytes of the names in `path`; `lengths` is the sum of this number over all values so far.
    length: usize,
    lengths: usize,
    problems: Problems,
}

fn invalid(byte: u8, context: &str) -> String {
    let shown = match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        byte => format!("'{}'", char::from(byte).escape_debug()),
    };
    format!("invalid character {shown} {context}")
}

/// Formats the path, for example `spec.items[0].name`.
fn written(bytes: &[u8], path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Field(position) => {
                if !text.is_empty() {
                    text.push('.');
                }
                let mut reader = Reader::new(bytes);
                reader.position = *position;
                text.push_str(&reader.string().unwrap_or_default());
            }
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            position: 0,
            depth: 0,
            path: Vec::new(),
            length: 0,
            lengths: 0,
            problems: Problems::default(),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn next(&mut self) -> Result<u8, String> {
        let byte = self.peek().ok_or(END)?;
        self.position += 1;
        Ok(byte)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.position += 1;
        }
    }

    fn next_token(&mut self) -> Result<u8, String> {
        self.space();
        self.next()
    }

    fn value(&mut self) -> Result<Value, String> {
        self.lengths += self.length;
        if self.lengths > MAX_PATHS_TEXT {
            return Err(LONG_PATHS.to_owned());
        }
        match self.next_token()? {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::array),
            b'"' => Ok(Value::String(self.string()?)),
            b't' => self.literal("true", Value::Bool(true)),
            b'f' => self.literal("false", Value::Bool(false)),
            b'n' => self.literal("null", Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            byte => Err(invalid(byte, "looking for beginning of value")),
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<Value, String>) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut map = Map::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.position += 1;
            return Ok(Value::Object(map));
        }
        loop {
            match self.next_token()? {
                b'"' => {}
                byte => return Err(invalid(byte, "looking for beginning of object key string")),
            }
            let start = self.position;
            self.path.push(Step::Field(start));
            let key = self.string()?;
            let long = self.position - start;
            self.length += long;
            match self.next_token()? {
                b':' => {}
                byte => return Err(invalid(byte, "after object key")),
            }
            let value = self.value()?;
            if map.insert(key, value).is_some() {
                self.duplicate();
            }
            self.path.pop();
            self.length -= long;
            match self.next_token()? {
                b',' => {}
                b'}' => return Ok(Value::Object(map)),
                byte => return Err(invalid(byte, "after object key:value pair")),
            }
        }
    }

    fn array(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.position += 1;
            return Ok(Value::Array(items));
        }
        loop {
            self.path.push(Step::Index(items.len()));
            items.push(self.value()?);
            self.path.pop();
            match self.next_token()? {
                b',' => {}
                b']' => return Ok(Value::Array(items)),
                byte => return Err(invalid(byte, "after array element")),
            }
        }
    }

    /// Records a duplicate field at the current path.
    fn duplicate(&mut self) {
        let Self { bytes, path, problems, .. } = self;
        problems.note_once(|| written(bytes, path));
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value, String> {
        for expected in word.bytes().skip(1) {
            let byte = self.next()?;
            if byte != expected {
                let context = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(invalid(byte, &context));
            }
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.position - 1;
        let mut integer = true;
        if self.bytes[start] == b'-' {
            match self.next()? {
                b'0'..=b'9' => {}
                byte => return Err(invalid(byte, "in numeric literal")),
            }
        }
        // No digit may follow a leading zero.
        if self.bytes[self.position - 1] != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            integer = false;
            self.position += 1;
            self.first_digit("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integer = false;
            self.position += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.position += 1;
            }
            self.first_digit("in exponent of numeric literal")?;
        }
        let text =
            std::str::from_utf8(&self.bytes[start..self.position]).map_err(|error| error.to_string())?;
        if let (true, Ok(number)) = (integer, text.parse::<i64>()) {
            return Ok(number.into());
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(number(value)),
            _ => Err(format!("json: cannot unmarshal number {text} into Go value of type float64")),
        }
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.position += 1;
        }
    }

    fn first_digit(&mut self, context: &str) -> Result<(), String> {
        match self.next()? {
            b'0'..=b'9' => {
                self.digits();
                Ok(())
            }
            byte => Err(invalid(byte, context)),
        }
    }

    /// Parses the rest of a string after its opening quote.
    fn string(&mut self) -> Result<String, String> {
        let mut text: Vec<u8> = Vec::new();
        loop {
            let start = self.position;
            while self.peek().is_some_and(|byte| byte != b'"' && byte != b'\\' && byte >= 0x20) {
                self.position += 1;
            }
            text.extend_from_slice(&self.bytes[start..self.position]);
            match self.next()? {
                b'"' => {
                    return Ok(String::from_utf8(text)
                        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()));
                }
                b'\\' => {
                    let character = self.escape()?;
                    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                byte => return Err(invalid(byte, "in string literal")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        Ok(match self.next()? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => self.unicode()?,
            byte => return Err(invalid(byte, "in string escape code")),
        })
    }

    /// Parses a code point. An unpaired surrogate is replaced.
    fn unicode(&mut self) -> Result<char, String> {
        let first = self.hex()?;
        if (0xd800..0xdc00).contains(&first) && self.bytes[self.position..].starts_with(b"\\u") {
            let back = self.position;
            self.position += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.position = back;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.next()?;
            let digit = char::from(byte)
                .to_digit(16)
                .ok_or_else(|| invalid(byte, "in \\u hexadecimal character escape"))?;
            code = code * 16 + digit;
        }
        Ok(code)
    }
}
