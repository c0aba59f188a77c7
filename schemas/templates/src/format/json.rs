//! JSON as Go's `encoding/json` writes and reads it.

use super::float;
use crate::error::Outcome;
use crate::values::{Bytes, Value, Work, check_depth};

/// The JSON of a value, on one line or indented by two spaces. `escapes` says whether characters of HTML are escaped.
///
/// `None` if JSON has no such value, for example an infinite number.
pub(crate) fn encode(
    work: &mut Work,
    value: &Value,
    indented: bool,
    escapes: bool,
) -> Outcome<Option<Vec<u8>>> {
    let mut encoder = Encoder { work, output: Vec::new(), indented, escapes };
    let complete = encoder.value(value, 0)?;
    Ok(complete.then_some(encoder.output))
}

/// The value of a JSON text, or `None` if it is no JSON.
pub(crate) fn decode(work: &mut Work, text: &[u8]) -> Outcome<Option<Value>> {
    work.steps(text.len() / 16)?;
    let text = String::from_utf8_lossy(text);
    match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(json) => work.json(&json, 0).map(Some),
        Err(_) => Ok(None),
    }
}

struct Encoder<'a> {
    work: &'a mut Work,
    output: Vec<u8>,
    indented: bool,
    escapes: bool,
}

impl Encoder<'_> {
    fn put(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.work.append(&mut self.output, bytes)
    }

    /// Returns whether JSON has the value.
    fn value(&mut self, value: &Value, depth: usize) -> Outcome<bool> {
        check_depth(depth)?;
        self.work.steps(1)?;
        match value {
            Value::Missing | Value::Nil => self.put(b"null")?,
            Value::Bool(value) => self.put(value.to_string().as_bytes())?,
            Value::Float(value) if !value.is_finite() => return Ok(false),
            Value::Float(value) => self.put(float::json(*value).as_bytes())?,
            Value::Text(text) => self.string(text)?,
            Value::Time(time) => self.string(time.rfc3339().as_bytes())?,
            Value::Version(version) => self.string(version.to_string().as_bytes())?,
            Value::List(list) if list.is_nil() => self.put(b"null")?,
            Value::List(list) => return self.list(list.items(), depth),
            Value::Map(map) if map.is_nil() => self.put(b"null")?,
            Value::Map(map) => {
                let entries = self.work.entries(map)?;
                return self.map(&entries, depth);
            }
            integer => {
                let signed = integer.signed().map(|value| value.to_string());
                let text = signed.or_else(|| integer.unsigned().map(|value| value.to_string()));
                self.put(text.unwrap_or_default().as_bytes())?;
            }
        }
        Ok(true)
    }

    fn list(&mut self, items: &[Value], depth: usize) -> Outcome<bool> {
        self.put(b"[")?;
        for (position, item) in items.iter().enumerate() {
            self.separate(position == 0, depth + 1)?;
            if !self.value(item, depth + 1)? {
                return Ok(false);
            }
        }
        self.end(items.is_empty(), depth, b"]")?;
        Ok(true)
    }

    fn map(&mut self, entries: &[(Bytes, Value)], depth: usize) -> Outcome<bool> {
        self.put(b"{")?;
        for (position, (key, value)) in entries.iter().enumerate() {
            self.separate(position == 0, depth + 1)?;
            self.string(key)?;
            self.put(if self.indented { b": " } else { b":" })?;
            if !self.value(value, depth + 1)? {
                return Ok(false);
            }
        }
        self.end(entries.is_empty(), depth, b"}")?;
        Ok(true)
    }

    fn separate(&mut self, first: bool, depth: usize) -> Outcome<()> {
        if !first {
            self.put(b",")?;
        }
        self.line(depth)
    }

    fn end(&mut self, empty: bool, depth: usize, bracket: &[u8]) -> Outcome<()> {
        if !empty {
            self.line(depth)?;
        }
        self.put(bracket)
    }

    fn line(&mut self, depth: usize) -> Outcome<()> {
        if self.indented {
            self.put(b"\n")?;
            self.put(&b"  ".repeat(depth))?;
        }
        Ok(())
    }

    fn string(&mut self, text: &[u8]) -> Outcome<()> {
        self.put(b"\"")?;
        for chunk in text.utf8_chunks() {
            for c in chunk.valid().chars() {
                self.character(c)?;
            }
            for _ in chunk.invalid() {
                self.put(b"\\ufffd")?;
            }
        }
        self.put(b"\"")
    }

    fn character(&mut self, c: char) -> Outcome<()> {
        match c {
            '"' => self.put(b"\\\""),
            '\\' => self.put(b"\\\\"),
            '\x08' => self.put(b"\\b"),
            '\x0c' => self.put(b"\\f"),
            '\n' => self.put(b"\\n"),
            '\r' => self.put(b"\\r"),
            '\t' => self.put(b"\\t"),
            '<' | '>' | '&' if self.escapes => self.unicode(c),
            '\u{2028}' | '\u{2029}' | '\0'..='\x1f' => self.unicode(c),
            c => self.put(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }

    fn unicode(&mut self, c: char) -> Outcome<()> {
        self.put(format!("\\u{:04x}", u32::from(c)).as_bytes())
    }
}
