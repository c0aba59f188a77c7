//! What stands for characters: escapes, and classes in brackets.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::parse::Parser;
use super::sets::{negated, numbers, perl, posix};
use super::{Assertion, Error, Node, Reason, unicode};

impl<'p> Parser<'p> {
    /// Parses an escape outside of brackets.
    pub(super) fn escape(&mut self) -> Result<(), Error> {
        let text = self.rest;
        let assertion = match text[1..].chars().next() {
            Some('A') => Assertion::TextStart,
            Some('z') => Assertion::TextEnd,
            Some('b') => Assertion::WordBoundary,
            Some('B') => Assertion::NoWordBoundary,
            Some('C') => return Err(Error::new(Reason::Escape, &text[..2])),
            Some('Q') => {
                let quoted = &text[2..];
                let (quoted, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
                self.rest = rest;
                return quoted.chars().try_for_each(|character| self.push_literal(character));
            }
            _ => {
                if let Some(set) = self.class_escape()? {
                    return self.push_class(set);
                }
                // Half of a UTF-16 pair is no character, and matches nothing.
                return match char::from_u32(self.number_escape()?) {
                    Some(character) => self.push_literal(character),
                    None => self.push_class(ClassUnicode::empty()),
                };
            }
        };
        self.rest = &text[2..];
        self.finds_inside |= matches!(assertion, Assertion::NoWordBoundary);
        self.push(Node::assertion(assertion))
    }

    /// Parses an escape that stands for a class, such as `\d` or `\p{Greek}`.
    pub(super) fn class_escape(&mut self) -> Result<Option<ClassUnicode>, Error> {
        let text = self.rest;
        let Some(letter) = text.strip_prefix('\\').and_then(|text| text.chars().next()) else {
            return Ok(None);
        };
        if matches!(letter, 'p' | 'P') {
            return self.unicode_class(letter == 'P');
        }
        let Some((set, is_negated)) = perl(letter) else { return Ok(None) };
        self.rest = &text[2..];
        self.signed(set, is_negated).map(Some)
    }

    /// Returns a set with its other cases, or all characters but these.
    pub(super) fn signed(&mut self, set: ClassUnicode, is_negated: bool) -> Result<ClassUnicode, Error> {
        let set = self.cased(set)?;
        Ok(if is_negated { negated(&set) } else { set })
    }

    fn unicode_class(&mut self, mut is_negated: bool) -> Result<Option<ClassUnicode>, Error> {
        let text = self.rest;
        let mut name = &text[2..];
        let length = match name.chars().next() {
            // Go reads a class without a name as one that it does not know.
            None => 0,
            Some('{') => match name.find('}') {
                Some(end) => end + 1,
                None => return Err(Error::new(Reason::ClassRange, text)),
            },
            Some(letter) => letter.len_utf8(),
        };
        let part = &text[..2 + length];
        name = &name[..length];
        name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
        if let Some(inner) = name.strip_prefix('^') {
            (name, is_negated) = (inner, !is_negated);
        }
        let Some((set, folds)) = unicode::class(name) else {
            return Err(Error::new(Reason::ClassRange, part));
        };
        self.rest = &text[2 + length..];
        self.work(set.ranges().len() as u64)?;
        let set = ClassUnicode::clone(&set);
        let set = if folds { self.cased(set)? } else { set };
        Ok(Some(if is_negated { negated(&set) } else { set }))
    }

    /// Parses an escape that stands for one character, and returns its number.
    pub(super) fn number_escape(&mut self) -> Result<u32, Error> {
        let text = self.rest;
        let mut characters = text[1..].chars();
        let Some(letter) = characters.next() else { return Err(Error::new(Reason::TrailingBackslash, "")) };
        self.rest = characters.as_str();
        let found = match letter {
            'a' => Some(0x07),
            'f' => Some(0x0c),
            'n' => Some(0x0a),
            'r' => Some(0x0d),
            't' => Some(0x09),
            'v' => Some(0x0b),
            '0'..='7' => self.octal(letter),
            'x' => self.hexadecimal(),
            _ if letter.is_ascii() && !letter.is_ascii_alphanumeric() => Some(letter.into()),
            _ => None,
        };
        let part = &text[..text.len() - self.rest.len()];
        found.ok_or_else(|| Error::new(Reason::Escape, part))
    }

    /// Parses up to three digits. One alone that is not zero would refer to a group, which Go cannot.
    fn octal(&mut self, first: char) -> Option<u32> {
        let mut number = first.to_digit(8)?;
        let more = self.rest.bytes().take(2).take_while(|digit| matches!(digit, b'0'..=b'7')).count();
        if more == 0 && first != '0' {
            return None;
        }
        for digit in self.rest[..more].bytes() {
            number = number * 8 + u32::from(digit - b'0');
        }
        self.rest = &self.rest[more..];
        Some(number)
    }

    /// Parses two digits, or any number of them in braces. What was read until a mistake is part of the error.
    fn hexadecimal(&mut self) -> Option<u32> {
        let mut next = || {
            let mut characters = self.rest.chars();
            let found = characters.next();
            self.rest = characters.as_str();
            found
        };
        let first = next()?;
        if first != '{' {
            let second = next();
            return Some(first.to_digit(16)? * 16 + second?.to_digit(16)?);
        }
        let (mut number, mut digits) = (0, 0);
        loop {
            match next()? {
                '}' => return (digits > 0).then_some(number),
                digit => number = number * 16 + digit.to_digit(16)?,
            }
            digits += 1;
            if number > 0x10_ffff {
                return None;
            }
        }
    }

    /// Returns the characters from one to another, with their other cases if the flags say so.
    pub(super) fn span(&mut self, low: u32, high: u32) -> Result<ClassUnicode, Error> {
        self.cased(numbers(low, high))
    }

    pub(super) fn brackets(&mut self) -> Result<(), Error> {
        let text = self.rest;
        self.rest = &text[1..];
        let is_negated = self.rest.starts_with('^');
        if is_negated {
            self.rest = &self.rest[1..];
        }
        let mut ranges: Vec<ClassUnicodeRange> = Vec::new();
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            let set = self.member(text)?;
            self.work(set.ranges().len() as u64)?;
            ranges.extend(set.ranges());
        }
        self.rest = &self.rest[1..];
        let set = ClassUnicode::new(ranges);
        self.push_class(if is_negated { negated(&set) } else { set })
    }

    /// Parses a class, a character or a range. `class` begins with the opening bracket.
    fn member(&mut self, class: &str) -> Result<ClassUnicode, Error> {
        if let Some(set) = self.posix_class()? {
            return Ok(set);
        }
        if let Some(set) = self.class_escape()? {
            return Ok(set);
        }
        let start = self.rest;
        let low = self.member_number(class)?;
        // A hyphen before the closing bracket is a character.
        let is_range = self.rest.starts_with('-') && self.rest.len() > 1 && !self.rest.starts_with("-]");
        if !is_range {
            return self.span(low, low);
        }
        self.rest = &self.rest[1..];
        let high = self.member_number(class)?;
        if high < low {
            let part = &start[..start.len() - self.rest.len()];
            return Err(Error::new(Reason::ClassRange, part));
        }
        self.span(low, high)
    }

    fn posix_class(&mut self) -> Result<Option<ClassUnicode>, Error> {
        let text = self.rest;
        let Some(inner) = text.strip_prefix("[:") else { return Ok(None) };
        let Some(end) = inner.find(":]") else { return Ok(None) };
        let (name, is_negated) = match inner[..end].strip_prefix('^') {
            Some(name) => (name, true),
            None => (&inner[..end], false),
        };
        let Some(set) = posix(name) else { return Err(Error::new(Reason::ClassRange, &text[..end + 4])) };
        self.rest = &inner[end + 2..];
        self.signed(set, is_negated).map(Some)
    }

    /// Parses one character and returns its number. Half of a UTF-16 pair has a number, too.
    fn member_number(&mut self, class: &str) -> Result<u32, Error> {
        let text = self.rest;
        match text.chars().next() {
            None => Err(Error::new(Reason::MissingBracket, class)),
            Some('\\') => self.number_escape(),
            Some(character) => {
                self.rest = &text[character.len_utf8()..];
                Ok(character.into())
            }
        }
    }
}
