//! Go's syntax of regular expressions, as `regexp.Compile` reads it: a text becomes a [`Tree`], or Go's error.

mod characters;
mod groups;
mod parse;
mod sets;
mod tree;
mod unicode;

use std::fmt::{self, Display, Formatter};

pub use self::parse::parse;
pub(crate) use self::sets::{folded, words};
pub use self::tree::Tree;
pub(crate) use self::tree::{Assertion, Kind, Node};

/// Why Go refuses a pattern. It reads as Go's error without the words `error parsing regexp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    reason: Reason,
    /// The part of the pattern that is wrong.
    part: String,
}

impl Error {
    fn new(reason: Reason, part: &str) -> Self {
        Self { reason, part: part.to_owned() }
    }

    /// Creates the error for a pattern that needs more memory than a pattern may.
    pub(super) fn too_large(pattern: &str) -> Self {
        Self::new(Reason::Large, pattern)
    }
}

impl Display for Error {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: `{}`", self.reason.text(), self.part)
    }
}

impl std::error::Error for Error {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    ClassRange,
    Escape,
    Large,
    MissingArgument,
    MissingBracket,
    MissingParenthesis,
    NamedCapture,
    NestedRepetition,
    Nesting,
    Perl,
    RepeatCount,
    TrailingBackslash,
    UnexpectedParenthesis,
}

impl Reason {
    fn text(self) -> &'static str {
        match self {
            Self::ClassRange => "invalid character class range",
            Self::Escape => "invalid escape sequence",
            Self::Large => "expression too large",
            Self::MissingArgument => "missing argument to repetition operator",
            Self::MissingBracket => "missing closing ]",
            Self::MissingParenthesis => "missing closing )",
            Self::NamedCapture => "invalid named capture",
            Self::NestedRepetition => "invalid nested repetition operator",
            Self::Nesting => "expression nests too deeply",
            Self::Perl => "invalid or unsupported Perl syntax",
            Self::RepeatCount => "invalid repeat count",
            Self::TrailingBackslash => "trailing backslash at end of expression",
            Self::UnexpectedParenthesis => "unexpected )",
        }
    }
}
