//! Prints a value with a verb and its flags.

use super::{Flags, float, integer, quote};
use crate::error::Outcome;
use crate::values::{List, Map, Value, Work, check_depth};

/// Prints values to the end of `output`.
pub(crate) struct Printer<'a> {
    pub(super) work: &'a mut Work,
    pub(super) output: &'a mut Vec<u8>,
    pub(super) flags: Flags,
}

impl Printer<'_> {
    fn put(&mut self, text: &[u8]) -> Outcome<()> {
        self.work.append(self.output, text)
    }

    /// Prints text filled up to the width, which counts characters.
    fn pad(&mut self, text: &[u8]) -> Outcome<()> {
        let length =
            text.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum();
        let missing = self.flags.width.unwrap_or_default().saturating_sub(length);
        self.work.bytes(missing)?;
        let fill = if self.flags.zero && !self.flags.minus { b'0' } else { b' ' };
        let padding = vec![fill; missing];
        if self.flags.minus {
            self.put(text)?;
            return self.put(&padding);
        }
        self.put(&padding)?;
        self.put(text)
    }

    fn pad_with_spaces(&mut self, text: &[u8]) -> Outcome<()> {
        let zero = std::mem::take(&mut self.flags.zero);
        let result = self.pad(text);
        self.flags.zero = zero;
        result
    }

    /// Prints an argument of the format.
    pub(crate) fn argument(&mut self, value: &Value, verb: char) -> Outcome<()> {
        if verb == 'T' {
            return self.string(value.type_name().as_bytes(), 's').map(|_| ());
        }
        if value.is_nothing() {
            return if verb == 'v' { self.pad(b"<nil>") } else { self.wrong_verb(value, verb) };
        }
        self.value(value, verb, 0)
    }

    fn value(&mut self, value: &Value, verb: char, depth: usize) -> Outcome<()> {
        check_depth(depth)?;
        self.work.steps(1)?;
        if let Some(text) = self.own_text(value, verb) {
            return self.string(&text, verb).map(|_| ());
        }
        let known = match value {
            Value::Missing | Value::Nil => {
                self.put(if self.flags.source { b"interface {}(nil)" } else { b"<nil>" })?;
                true
            }
            Value::Bool(value) => self.bool(*value, verb)?,
            Value::Float(value) => self.float(*value, verb)?,
            Value::Text(text) => self.string(text, verb)?,
            Value::List(list) => return self.list(list, verb, depth),
            Value::Map(map) => return self.map(map, verb, depth),
            // The fields of these are not for templates.
            Value::Time(_) | Value::Version(_) => false,
            other => self.integer(other, verb)?,
        };
        if known { Ok(()) } else { self.wrong_verb(value, verb) }
    }

    /// The text that the type itself has, for the verbs that take it.
    fn own_text(&self, value: &Value, verb: char) -> Option<Vec<u8>> {
        if self.flags.source || !matches!(verb, 'v' | 's' | 'x' | 'X' | 'q') {
            return None;
        }
        value.own_text()
    }

    fn wrong_verb(&mut self, value: &Value, verb: char) -> Outcome<()> {
        self.put(format!("%!{verb}(").as_bytes())?;
        if value.is_nothing() {
            self.put(b"<nil>")?;
        } else {
            self.put(value.type_name().as_bytes())?;
            self.put(b"=")?;
            let flags = self.flags.clone();
            self.value(value, 'v', 0)?;
            self.flags = flags;
        }
        self.put(b")")
    }

    fn bool(&mut self, value: bool, verb: char) -> Outcome<bool> {
        if !matches!(verb, 't' | 'v') {
            return Ok(false);
        }
        self.pad(value.to_string().as_bytes())?;
        Ok(true)
    }

    fn integer(&mut self, value: &Value, verb: char) -> Outcome<bool> {
        let signed = value.signed().map(i128::from);
        let Some(number) = signed.or_else(|| value.unsigned().map(i128::from)) else { return Ok(false) };
        let extra = self.flags.precision.unwrap_or_default() + self.flags.width.unwrap_or_default();
        self.work.bytes(extra)?;
        let code = u32::try_from(number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        match verb {
            'v' if self.flags.source && signed.is_none() => {
                self.pad_with_spaces(format!("0x{number:x}").as_bytes())?;
            }
            'c' => self.pad(code.encode_utf8(&mut [0; 4]).as_bytes())?,
            'q' => {
                let text = quote::character(code, self.flags.plus);
                self.pad(&text)?;
            }
            'U' => {
                let text = integer::code_point(number as u64, &self.flags);
                self.pad_with_spaces(text.as_bytes())?;
            }
            _ => match integer::format(number, verb, &self.flags) {
                Some(text) => self.pad_with_spaces(text.as_bytes())?,
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    fn float(&mut self, value: f64, verb: char) -> Outcome<bool> {
        let (format, default) = match verb {
            'v' | 'g' => ('g', None),
            'G' => ('G', None),
            'e' | 'E' | 'f' => (verb, Some(6)),
            'F' => ('f', Some(6)),
            'x' | 'X' | 'b' => (verb, None),
            _ => return Ok(false),
        };
        let precision = self.flags.precision.or(default);
        self.work.bytes(precision.unwrap_or_default() + self.flags.width.unwrap_or_default())?;
        let mut text = float::format(value, format, precision);
        if self.flags.sharp && verb != 'b' && value.is_finite() {
            text = float::with_zeros(&text, format, precision);
        }
        let signed = text.starts_with(['-', '+']);
        if signed && text.starts_with('+') && !self.flags.plus {
            // Only infinity comes with a plus.
            if self.flags.space {
                text.replace_range(..1, " ");
            }
        } else if !signed && self.flags.plus {
            text.insert(0, '+');
        } else if !signed && self.flags.space {
            text.insert(0, ' ');
        }
        if !value.is_finite() {
            self.pad_with_spaces(text.as_bytes())?;
            return Ok(true);
        }
        let has_sign = text.starts_with(['-', '+', ' ']);
        if self.flags.zero && !self.flags.minus && has_sign {
            let width = self.flags.width.unwrap_or_default();
            let zeros = width.saturating_sub(text.len());
            text.insert_str(1, &"0".repeat(zeros));
        }
        self.pad(text.as_bytes())?;
        Ok(true)
    }

    /// Prints a string. Returns whether the verb is for strings.
    fn string(&mut self, text: &[u8], verb: char) -> Outcome<bool> {
        match verb {
            'v' if self.flags.source => {
                let quoted = quote::string(text, false);
                self.pad(&quoted)?;
            }
            'v' | 's' => {
                let text = self.truncated(text);
                self.pad(text)?;
            }
            'q' => {
                let text = self.truncated(text);
                self.work.bytes(text.len())?;
                let raw = self.flags.sharp && !text.contains(&b'`') && can_be_raw(text);
                let quoted =
                    if raw { [b"`", text, b"`"].concat() } else { quote::string(text, self.flags.plus) };
                self.pad(&quoted)?;
            }
            'x' | 'X' => self.hexadecimal(text, verb)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The first characters, as many as the precision says.
    fn truncated<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(precision) = self.flags.precision else { return text };
        let mut end = 0;
        let mut count = 0;
        for chunk in text.utf8_chunks() {
            let lengths = chunk.valid().chars().map(char::len_utf8).chain(chunk.invalid().iter().map(|_| 1));
            for length in lengths {
                if count == precision {
                    return &text[..end];
                }
                count += 1;
                end += length;
            }
        }
        text
    }

    fn hexadecimal(&mut self, text: &[u8], verb: char) -> Outcome<()> {
        let length = self.flags.precision.unwrap_or(text.len()).min(text.len());
        self.work.bytes(length * 5)?;
        let mut output = String::new();
        for (position, byte) in text[..length].iter().enumerate() {
            if self.flags.space && position > 0 {
                output.push(' ');
            }
            if self.flags.sharp && (self.flags.space || position == 0) {
                output.push_str("0x");
            }
            output.push_str(&format!("{byte:02x}"));
        }
        if verb == 'X' {
            output.make_ascii_uppercase();
        }
        self.pad(output.as_bytes())
    }

    fn list(&mut self, list: &List, verb: char, depth: usize) -> Outcome<()> {
        let source = self.flags.source;
        if source {
            self.put(Value::List(list.clone()).type_name().as_bytes())?;
            if list.is_nil() {
                return self.put(b"(nil)");
            }
        }
        self.put(if source { b"{" } else { b"[" })?;
        for (position, item) in list.items().iter().enumerate() {
            if position > 0 {
                self.put(if source { b", " } else { b" " })?;
            }
            self.value(item, verb, depth + 1)?;
        }
        self.put(if source { b"}" } else { b"]" })
    }

    fn map(&mut self, map: &Map, verb: char, depth: usize) -> Outcome<()> {
        let source = self.flags.source;
        if source {
            self.put(Value::Map(map.clone()).type_name().as_bytes())?;
            if map.is_nil() {
                return self.put(b"(nil)");
            }
        }
        self.put(if source { b"{" } else { b"map[" })?;
        for (position, (key, value)) in self.work.entries(map)?.iter().enumerate() {
            if position > 0 {
                self.put(if source { b", " } else { b" " })?;
            }
            self.value(&Value::Text(key.clone()), verb, depth + 1)?;
            self.put(b":")?;
            self.value(value, verb, depth + 1)?;
        }
        self.put(if source { b"}" } else { b"]" })
    }
}

/// Whether a string can stand in back quotes: one line of characters that need no escape.
fn can_be_raw(text: &[u8]) -> bool {
    std::str::from_utf8(text)
        .is_ok_and(|text| text.chars().all(|c| (c == '\t' || c >= ' ') && c != '\x7f' && c != '\u{feff}'))
}
