//! Groups, their names, and flags.

use std::sync::Arc;

use super::parse::Parser;
use super::{Error, Reason};

impl<'p> Parser<'p> {
    /// Parses the beginning of a group, or flags that hold from here on.
    pub(super) fn group(&mut self) -> Result<(), Error> {
        let text = self.rest;
        if !text.starts_with("(?") {
            self.rest = &text[1..];
            self.capture(None);
            return Ok(());
        }
        let name = ["(?P<", "(?<"].iter().find(|start| text.starts_with(**start) && text.len() > start.len());
        match name {
            Some(start) => self.named(start.len()),
            None => self.flags(),
        }
    }

    fn capture(&mut self, name: Option<Arc<str>>) {
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name);
        self.open(Some(number), self.flags);
    }

    fn named(&mut self, start: usize) -> Result<(), Error> {
        let text = self.rest;
        let Some(end) = text.find('>') else { return Err(Error::new(Reason::NamedCapture, text)) };
        let name = text.get(start..end).unwrap_or_default();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(Error::new(Reason::NamedCapture, &text[..=end]));
        }
        self.rest = &text[end + 1..];
        self.capture(Some(name.into()));
        Ok(())
    }

    fn flags(&mut self) -> Result<(), Error> {
        let text = self.rest;
        let (mut flags, mut negative, mut any) = (self.flags, false, false);
        let mut characters = text[2..].chars();
        while let Some(character) = characters.next() {
            match character {
                'i' => flags.fold = !negative,
                'm' => flags.lines = !negative,
                's' => flags.dot_newline = !negative,
                'U' => flags.lazy = !negative,
                '-' if !negative => {
                    (negative, any) = (true, false);
                    continue;
                }
                ':' | ')' if any || !negative => {
                    self.rest = characters.as_str();
                    match character {
                        ':' => self.open(None, flags),
                        _ => self.flags = flags,
                    }
                    return Ok(());
                }
                _ => break,
            }
            any = true;
        }
        let part = &text[..text.len() - characters.as_str().len()];
        Err(Error::new(Reason::Perl, part))
    }
}
