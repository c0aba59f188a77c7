//! The parser. It keeps the open groups in a list, so that no pattern can exhaust the stack.

use std::sync::Arc;

use regex_syntax::hir::ClassUnicode;

use super::sets::{folded, folding_work, negated, numbers};
use super::{Assertion, Error, Node, Reason, Tree};
use crate::limits::MAX_PATTERN_SIZE;

/// How often Go repeats at most, where the counts of nested repetitions multiply.
const MAX_REPEAT: u32 = 1000;

/// Parses a pattern.
///
/// # Errors
/// Go's error.
pub fn parse(pattern: &str) -> Result<Tree, Error> {
    Parser::new(pattern).run()
}

pub(super) struct Parser<'p> {
    pub pattern: &'p str,
    pub rest: &'p str,
    pub flags: Flags,
    pub names: Vec<Option<Arc<str>>>,
    pub finds_inside: bool,
    ranges: u64,
    open: Vec<Open>,
    /// The branches of the current group that are complete, and the parts of the current one.
    branches: Vec<Node>,
    parts: Vec<Node>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub fold: bool,
    pub lines: bool,
    pub dot_newline: bool,
    pub lazy: bool,
}

/// A group that is not closed yet, with what stands before it.
struct Open {
    number: Option<u32>,
    flags: Flags,
    branches: Vec<Node>,
    parts: Vec<Node>,
}

impl<'p> Parser<'p> {
    fn new(pattern: &'p str) -> Self {
        Self {
            pattern,
            rest: pattern,
            flags: Flags::default(),
            names: vec![None],
            finds_inside: false,
            ranges: 0,
            open: Vec::new(),
            branches: Vec::new(),
            parts: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Tree, Error> {
        // Where the repetition begins that the last part is, which may not be repeated.
        let mut repeated: Option<&str> = None;
        while let Some(character) = self.rest.chars().next() {
            let before = self.rest;
            let last = repeated.take();
            match character {
                '*' | '+' | '?' => {
                    self.rest = &before[1..];
                    let counts = match character {
                        '*' => (0, None),
                        '+' => (1, None),
                        _ => (0, Some(1)),
                    };
                    self.repeat(before, counts, false, last)?;
                    repeated = Some(before);
                }
                '{' => match self.counts()? {
                    Some(counts) => {
                        self.repeat(before, counts, true, last)?;
                        repeated = Some(before);
                    }
                    None => self.take_literal()?,
                },
                '(' => self.group()?,
                ')' => self.close()?,
                '|' => {
                    self.rest = &before[1..];
                    self.end_branch()?;
                }
                '^' | '$' | '.' => self.symbol(character)?,
                '[' => self.brackets()?,
                '\\' => self.escape()?,
                _ => self.take_literal()?,
            }
        }
        self.end_branch()?;
        if !self.open.is_empty() {
            return Err(Error::new(Reason::MissingParenthesis, self.pattern));
        }
        let root = Node::alternation(self.branches).checked(self.pattern)?;
        let finds_inside = self.finds_inside;
        Ok(Tree { root, names: self.names, ranges: self.ranges, finds_inside })
    }

    fn symbol(&mut self, character: char) -> Result<(), Error> {
        self.rest = &self.rest[1..];
        match character {
            '.' => {
                let any = self.flags.dot_newline;
                self.push_class(if any { numbers(0, 0x10_ffff) } else { negated(&numbers(10, 10)) })
            }
            '^' if self.flags.lines => self.push(Node::assertion(Assertion::LineStart)),
            '^' => self.push(Node::assertion(Assertion::TextStart)),
            _ if self.flags.lines => self.push(Node::assertion(Assertion::LineEnd)),
            _ => self.push(Node::assertion(Assertion::TextEnd)),
        }
    }

    pub(super) fn push(&mut self, node: Node) -> Result<(), Error> {
        self.parts.push(node.checked(self.pattern)?);
        Ok(())
    }

    pub(super) fn push_literal(&mut self, character: char) -> Result<(), Error> {
        self.push(Node::literal(character, self.flags.fold))
    }

    pub(super) fn push_class(&mut self, set: ClassUnicode) -> Result<(), Error> {
        self.work(set.ranges().len() as u64)?;
        self.push(Node::class(Arc::new(set)))
    }

    /// Counts ranges, which take memory and time.
    pub(super) fn work(&mut self, ranges: u64) -> Result<(), Error> {
        self.ranges = self.ranges.saturating_add(ranges);
        if self.ranges > MAX_PATTERN_SIZE { Err(Error::new(Reason::Large, self.pattern)) } else { Ok(()) }
    }

    /// Returns a set as the flags want it.
    pub(super) fn cased(&mut self, set: ClassUnicode) -> Result<ClassUnicode, Error> {
        if !self.flags.fold {
            return Ok(set);
        }
        self.work(folding_work(&set))?;
        Ok(folded(&set))
    }

    fn take_literal(&mut self) -> Result<(), Error> {
        let mut characters = self.rest.chars();
        let literal = characters.next();
        self.rest = characters.as_str();
        literal.map_or(Ok(()), |literal| self.push_literal(literal))
    }

    /// Repeats the last part. `before` begins with the operator, and `last` with the operator before it.
    fn repeat(
        &mut self,
        before: &str,
        counts: (u32, Option<u32>),
        counted: bool,
        last: Option<&str>,
    ) -> Result<(), Error> {
        let lazy = self.rest.starts_with('?');
        if lazy {
            self.rest = &self.rest[1..];
        }
        let length = before.len() - self.rest.len();
        if let Some(last) = last {
            let part = &last[..last.len() - self.rest.len()];
            return Err(Error::new(Reason::NestedRepetition, part));
        }
        let operator = &before[..length];
        let Some(part) = self.parts.pop() else {
            return Err(Error::new(Reason::MissingArgument, operator));
        };
        let greedy = lazy == self.flags.lazy;
        let node = Node::repetition(part, counts, greedy, counted).checked(self.pattern)?;
        if !node.repeats_within(MAX_REPEAT) {
            return Err(Error::new(Reason::RepeatCount, operator));
        }
        self.parts.push(node);
        Ok(())
    }

    /// Parses `{2}`, `{2,}` or `{2,5}`. Otherwise, the brace is a character as any other.
    fn counts(&mut self) -> Result<Option<(u32, Option<u32>)>, Error> {
        let Some((least, most, rest)) = counts(self.rest) else { return Ok(None) };
        if least > MAX_REPEAT || most.is_some_and(|most| most > MAX_REPEAT || most < least) {
            let part = &self.rest[..self.rest.len() - rest.len()];
            return Err(Error::new(Reason::RepeatCount, part));
        }
        self.rest = rest;
        Ok(Some((least, most)))
    }

    pub(super) fn open(&mut self, number: Option<u32>, flags: Flags) {
        let (branches, parts) = (std::mem::take(&mut self.branches), std::mem::take(&mut self.parts));
        self.open.push(Open { number, flags: self.flags, branches, parts });
        self.flags = flags;
    }

    fn close(&mut self) -> Result<(), Error> {
        self.end_branch()?;
        let Some(open) = self.open.pop() else {
            return Err(Error::new(Reason::UnexpectedParenthesis, self.pattern));
        };
        self.rest = &self.rest[1..];
        self.flags = open.flags;
        let inner = Node::alternation(std::mem::replace(&mut self.branches, open.branches));
        let inner = inner.checked(self.pattern)?;
        self.parts = open.parts;
        self.push(match open.number {
            Some(number) => Node::group(number, inner),
            None => inner,
        })
    }

    fn end_branch(&mut self) -> Result<(), Error> {
        let branch = Node::concatenation(std::mem::take(&mut self.parts));
        self.branches.push(branch.checked(self.pattern)?);
        Ok(())
    }
}

/// The least count, the greatest one if there is one, and the text behind the brace.
type Counts<'p> = (u32, Option<u32>, &'p str);

fn counts(text: &str) -> Option<Counts<'_>> {
    let (least, rest) = number(text.strip_prefix('{')?)?;
    let (most, rest) = match rest.strip_prefix(',') {
        None => (Some(least), rest),
        Some(rest) if rest.starts_with('}') => (None, rest),
        Some(rest) => number(rest).map(|(most, rest)| (Some(most), rest))?,
    };
    Some((least, most, rest.strip_prefix('}')?))
}

/// Parses a number without leading zeros.
fn number(text: &str) -> Option<(u32, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(length);
    let plain = !digits.is_empty() && (length == 1 || !digits.starts_with('0'));
    plain.then(|| (digits.parse().unwrap_or(u32::MAX), rest))
}
