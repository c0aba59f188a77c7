//! Reads the format of `printf`.

use super::Flags;
use super::value::Printer;
use crate::error::Outcome;
use crate::values::{Value, Work};

/// The largest width or precision that Go accepts.
const NUMBER_MAX: usize = 1_000_000;

/// The format with its arguments.
pub(crate) fn printf(work: &mut Work, format: &[u8], arguments: &[Value]) -> Outcome<Vec<u8>> {
    let mut reader = Reader {
        work,
        output: Vec::new(),
        format,
        position: 0,
        arguments,
        next: 0,
        reordered: false,
        good_index: true,
    };
    while reader.position < format.len() {
        reader.directive()?;
    }
    reader.end()?;
    Ok(reader.output)
}

struct Reader<'a> {
    work: &'a mut Work,
    output: Vec<u8>,
    format: &'a [u8],
    position: usize,
    arguments: &'a [Value],
    next: usize,
    /// Whether an index such as `[1]` was used; then missing and extra arguments are not reported.
    reordered: bool,
    good_index: bool,
}

impl Reader<'_> {
    fn put(&mut self, text: &[u8]) -> Outcome<()> {
        self.work.append(&mut self.output, text)
    }

    fn peek(&self) -> u8 {
        self.format.get(self.position).copied().unwrap_or_default()
    }

    /// Copies text up to the next `%`, and prints what follows it.
    fn directive(&mut self) -> Outcome<()> {
        self.work.steps(1)?;
        let rest = &self.format[self.position..];
        let start = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
        let text = rest[..start].to_vec();
        self.put(&text)?;
        self.position += start + 1;
        if start == rest.len() {
            return Ok(());
        }
        self.good_index = true;
        let mut flags = self.flags();
        let mut after_index = self.index();
        self.width(&mut flags, &mut after_index)?;
        self.precision(&mut flags, &mut after_index)?;
        if !after_index {
            self.index();
        }
        let Some((verb, length)) = character(&self.format[self.position.min(self.format.len())..]) else {
            return self.put(b"%!(NOVERB)");
        };
        self.position += length;
        self.verb(verb, flags)
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        loop {
            match self.peek() {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                _ => return flags,
            }
            self.position += 1;
        }
    }

    fn width(&mut self, flags: &mut Flags, after_index: &mut bool) -> Outcome<()> {
        if self.peek() == b'*' {
            self.position += 1;
            *after_index = false;
            match self.star() {
                Some(width) => {
                    if width < 0 {
                        flags.minus = true;
                        flags.zero = false;
                    }
                    flags.width = Some(width.unsigned_abs() as usize);
                }
                None => self.put(b"%!(BADWIDTH)")?,
            }
        } else {
            flags.width = self.number();
            if *after_index && flags.width.is_some() {
                self.good_index = false;
            }
        }
        Ok(())
    }

    fn precision(&mut self, flags: &mut Flags, after_index: &mut bool) -> Outcome<()> {
        if self.peek() != b'.' {
            return Ok(());
        }
        self.position += 1;
        if *after_index {
            self.good_index = false;
        }
        *after_index = self.index();
        if self.peek() == b'*' {
            self.position += 1;
            *after_index = false;
            match self.star() {
                Some(precision) => flags.precision = usize::try_from(precision).ok(),
                None => self.put(b"%!(BADPREC)")?,
            }
        } else {
            flags.precision = Some(self.number().unwrap_or_default());
        }
        Ok(())
    }

    /// A number in the format. `None` if there is none, or if it is too large.
    fn number(&mut self) -> Option<usize> {
        let mut number = None;
        while self.peek().is_ascii_digit() {
            let digit = usize::from(self.peek() - b'0');
            let value = number.unwrap_or(0usize).saturating_mul(10).saturating_add(digit);
            if value > NUMBER_MAX {
                // Go gives up the rest of the format.
                self.position = self.format.len();
                return None;
            }
            number = Some(value);
            self.position += 1;
        }
        number
    }

    /// The argument for `*`.
    fn star(&mut self) -> Option<i64> {
        let argument = self.arguments.get(self.next)?;
        self.next += 1;
        let number =
            argument.signed().or_else(|| argument.unsigned().and_then(|value| i64::try_from(value).ok()))?;
        (number.unsigned_abs() <= NUMBER_MAX as u64).then_some(number)
    }

    /// An index such as `[1]`, which chooses the next argument. Returns whether there is one.
    fn index(&mut self) -> bool {
        if self.peek() != b'[' {
            return false;
        }
        self.reordered = true;
        let rest = &self.format[self.position..];
        let Some(end) = rest.iter().position(|byte| *byte == b']') else {
            self.good_index = false;
            self.position += 1;
            return false;
        };
        let number = std::str::from_utf8(&rest[1..end]).ok().and_then(|text| text.parse::<usize>().ok());
        self.position += end + 1;
        match number {
            Some(number) if (1..=self.arguments.len()).contains(&number) => {
                self.next = number - 1;
                true
            }
            _ => {
                self.good_index = false;
                number.is_some()
            }
        }
    }

    fn verb(&mut self, verb: char, mut flags: Flags) -> Outcome<()> {
        let name = verb.to_string();
        if verb == '%' {
            return self.put(b"%");
        }
        if !self.good_index {
            return self.put(format!("%!{name}(BADINDEX)").as_bytes());
        }
        let Some(argument) = self.arguments.get(self.next) else {
            return self.put(format!("%!{name}(MISSING)").as_bytes());
        };
        self.next += 1;
        if verb == 'v' {
            flags.source = std::mem::take(&mut flags.sharp);
            flags.plus = false;
        }
        Printer { work: self.work, output: &mut self.output, flags }.argument(argument, verb)
    }

    /// Reports arguments that no verb has taken.
    fn end(&mut self) -> Outcome<()> {
        if self.reordered || self.next >= self.arguments.len() {
            return Ok(());
        }
        self.put(b"%!(EXTRA ")?;
        for position in self.next..self.arguments.len() {
            if position > self.next {
                self.put(b", ")?;
            }
            let argument = &self.arguments[position];
            if argument.is_nothing() {
                self.put(b"<nil>")?;
                continue;
            }
            self.put(argument.type_name().as_bytes())?;
            self.put(b"=")?;
            super::append(self.work, &mut self.output, argument)?;
        }
        self.put(b")")
    }
}

/// The first character and the number of its bytes. A byte that is no character is the replacement character.
fn character(text: &[u8]) -> Option<(char, usize)> {
    let chunk = text.utf8_chunks().next()?;
    match chunk.valid().chars().next() {
        Some(c) => Some((c, c.len_utf8())),
        None => Some((char::REPLACEMENT_CHARACTER, 1)),
    }
}
