//! The tree of a pattern, with what Go limits: the size of its program and the height of the tree.

use std::sync::Arc;

use regex_syntax::hir::ClassUnicode;

use super::{Error, Reason};

/// Go's limit for the height of a tree.
const MAX_HEIGHT: u32 = 1000;
/// Go's limit for the number of instructions.
const MAX_INSTRUCTIONS: u64 = (128 << 20) / 40;

/// A pattern that Go accepts.
#[derive(Debug)]
pub struct Tree {
    pub(crate) root: Node,
    /// The names of the groups, of which the first one is the whole match.
    pub(crate) names: Vec<Option<Arc<str>>>,
    /// The number of ranges in all classes, and of characters that were folded.
    pub(crate) ranges: u64,
    /// Whether it has `\B`.
    pub(crate) finds_inside: bool,
}

impl Tree {
    /// Returns the number of instructions of Go's program and of ranges of characters, which is what compiling takes.
    pub fn size(&self) -> u64 {
        self.root.size.saturating_add(self.ranges)
    }
}

/// A part of a pattern.
#[derive(Debug)]
pub(crate) struct Node {
    pub kind: Kind,
    pub height: u32,
    /// The number of instructions of Go's program.
    pub size: u64,
    /// The number of ranges of characters, where repetitions multiply.
    pub weight: u64,
    /// The product of nested repetition counts, at the most repeated part.
    times: u32,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Empty,
    /// Characters, also in their other cases if `fold` is set.
    Literal {
        characters: Vec<char>,
        fold: bool,
    },
    Class(Arc<ClassUnicode>),
    Assertion(Assertion),
    Group(u32, Box<Node>),
    Repetition {
        least: u32,
        most: Option<u32>,
        greedy: bool,
        of: Box<Node>,
    },
    Concatenation(Vec<Node>),
    Alternation(Vec<Node>),
}

/// A condition that matches no character.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Assertion {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordBoundary,
    NoWordBoundary,
}

impl Node {
    fn leaf(kind: Kind) -> Self {
        Self { kind, height: 1, size: 1, weight: 1, times: 1 }
    }

    pub(super) fn empty() -> Self {
        Self::leaf(Kind::Empty)
    }

    pub(super) fn class(class: Arc<ClassUnicode>) -> Self {
        let weight = class.ranges().len() as u64;
        Self { weight, ..Self::leaf(Kind::Class(class)) }
    }

    pub(super) fn assertion(assertion: Assertion) -> Self {
        Self::leaf(Kind::Assertion(assertion))
    }

    pub(super) fn literal(character: char, fold: bool) -> Self {
        Self::leaf(Kind::Literal { characters: vec![character], fold })
    }

    pub(super) fn group(number: u32, inner: Self) -> Self {
        let (height, size) = (inner.height + 1, inner.size.saturating_add(2));
        let (weight, times) = (inner.weight, inner.times);
        Self { kind: Kind::Group(number, Box::new(inner)), height, size, weight, times }
    }

    /// `counted` says that the operator is one with braces, whose counts have a limit.
    pub(super) fn repetition(inner: Self, counts: (u32, Option<u32>), greedy: bool, counted: bool) -> Self {
        let (least, most) = counts;
        let copies = |count: u32| inner.size.saturating_mul(count.into());
        let size = match (counted, least, most) {
            (_, 0, None) => inner.size.saturating_add(2),
            (false, ..) => inner.size.saturating_add(1),
            (true, least, None) => copies(least).saturating_add(1),
            (true, least, Some(most)) => copies(most).saturating_add(most.saturating_sub(least).into()),
        };
        let times = match most {
            _ if !counted => inner.times,
            Some(0) => 1,
            _ => inner.times.saturating_mul(most.unwrap_or(least).max(1)),
        };
        let height = inner.height + 1;
        let weight = inner.weight.saturating_mul(most.unwrap_or(least).max(1).into());
        let kind = Kind::Repetition { least, most, greedy, of: Box::new(inner) };
        Self { kind, height, size: size.max(1), weight, times }
    }

    /// Joins parts that follow each other. Neighbouring characters become one literal.
    pub(super) fn concatenation(parts: Vec<Self>) -> Self {
        let mut joined: Vec<Self> = Vec::with_capacity(parts.len());
        for part in parts {
            match (joined.last_mut(), part.kind) {
                (
                    Some(Self { kind: Kind::Literal { characters, fold }, size, weight, .. }),
                    Kind::Literal { characters: more, fold: same },
                ) if *fold == same => {
                    characters.extend(more);
                    *size = characters.len() as u64;
                    *weight = *size;
                }
                (_, Kind::Concatenation(parts)) => joined.extend(parts),
                (_, kind) => joined.push(Self { kind, ..part }),
            }
        }
        Self::several(joined, 0, Kind::Concatenation)
    }

    pub(super) fn alternation(branches: Vec<Self>) -> Self {
        let mut joined: Vec<Self> = Vec::with_capacity(branches.len());
        for branch in branches {
            match branch.kind {
                Kind::Alternation(branches) => joined.extend(branches),
                kind => joined.push(Self { kind, ..branch }),
            }
        }
        Self::several(joined, 1, Kind::Alternation)
    }

    /// `between` is the number of instructions between two parts.
    fn several(mut parts: Vec<Self>, between: u64, kind: fn(Vec<Self>) -> Kind) -> Self {
        if parts.len() < 2 {
            return parts.pop().unwrap_or_else(Self::empty);
        }
        let height = 1 + parts.iter().map(|part| part.height).max().unwrap_or_default();
        let times = parts.iter().map(|part| part.times).max().unwrap_or(1);
        let sizes = parts.iter().map(|part| part.size).fold(0, u64::saturating_add);
        let size = sizes.saturating_add(between * (parts.len() as u64 - 1));
        let weight = parts.iter().map(|part| part.weight).fold(0, u64::saturating_add);
        Self { kind: kind(parts), height, size, weight, times }
    }

    /// Whether no part is repeated more often than Go repeats.
    pub(super) fn repeats_within(&self, most: u32) -> bool {
        self.times <= most
    }

    /// Checks Go's limits for the whole of a pattern.
    pub(super) fn checked(self, pattern: &str) -> Result<Self, Error> {
        if self.size > MAX_INSTRUCTIONS {
            return Err(Error::new(Reason::Large, pattern));
        }
        if self.height > MAX_HEIGHT {
            return Err(Error::new(Reason::Nesting, pattern));
        }
        Ok(self)
    }
}
