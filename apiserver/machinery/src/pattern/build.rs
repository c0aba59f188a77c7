//! Builds the program of a pattern from its tree.

use std::thread;

use regex_automata::meta::{Builder, Config, Regex};
use regex_syntax::hir::{Capture, Class, ClassBytes, ClassBytesRange, Hir, Look, Repetition};

use super::alphabet::{Alphabet, one};
use super::syntax::{Assertion, Error, Kind, Node, Tree};
use crate::limits::{MAX_PATTERN_BYTES, MAX_PATTERN_SIZE};

/// Maximum memory of a program over the bytes of UTF-8. What needs more becomes one over symbols.
const UTF8_BYTES: usize = 256 << 10;
/// Maximum number of ranges of characters in a program over the bytes of UTF-8, of which none is small.
const UTF8_RANGES: u64 = 5_000;
/// Trees of more levels are built on a thread of their own.
const LEVELS: u32 = 100;
/// The stack of such a thread, which is enough for Go's limit of levels.
const STACK: usize = 64 << 20;

/// Builds the program of a tree. It reads bytes of UTF-8, or symbols of the alphabet that is returned.
pub(super) fn build(tree: &Tree, pattern: &str) -> Result<(Regex, Option<Alphabet>), Error> {
    let built = if tree.root.height <= LEVELS {
        program(tree)
    } else {
        thread::scope(|scope| {
            let deep = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || program(tree));
            deep.ok()?.join().ok()?
        })
    };
    built.ok_or_else(|| Error::too_large(pattern))
}

fn program(tree: &Tree) -> Option<(Regex, Option<Alphabet>)> {
    if tree.size() > MAX_PATTERN_SIZE {
        return None;
    }
    let utf8 = |limit| compiled(&hir(&tree.root, None), limit, true);
    if tree.root.weight <= UTF8_RANGES
        && let Some(regex) = utf8(UTF8_BYTES)
    {
        return Some((regex, None));
    }
    match Alphabet::of(&tree.root) {
        Some(alphabet) => {
            let regex = compiled(&hir(&tree.root, Some(&alphabet)), MAX_PATTERN_BYTES, false)?;
            Some((regex, Some(alphabet)))
        }
        None => Some((utf8(MAX_PATTERN_BYTES)?, None)),
    }
}

fn compiled(hir: &Hir, limit: usize, utf8: bool) -> Option<Regex> {
    let config = Config::new().utf8_empty(utf8).nfa_size_limit(Some(limit));
    Builder::new().configure(config).build_from_hir(hir).ok()
}

fn hir(node: &Node, alphabet: Option<&Alphabet>) -> Hir {
    match &node.kind {
        Kind::Empty => Hir::empty(),
        Kind::Literal { characters, fold } => literal(characters, *fold, alphabet),
        Kind::Class(class) => match alphabet {
            Some(alphabet) => Hir::class(Class::Bytes(alphabet.class(class))),
            None => Hir::class(Class::Unicode(class.as_ref().clone())),
        },
        Kind::Assertion(assertion) => Hir::look(match assertion {
            Assertion::TextStart => Look::Start,
            Assertion::TextEnd => Look::End,
            Assertion::LineStart => Look::StartLF,
            Assertion::LineEnd => Look::EndLF,
            Assertion::WordBoundary => Look::WordAscii,
            Assertion::NoWordBoundary => Look::WordAsciiNegate,
        }),
        Kind::Group(index, inner) => {
            Hir::capture(Capture { index: *index, name: None, sub: Box::new(hir(inner, alphabet)) })
        }
        Kind::Repetition { least, most, greedy, of } => Hir::repetition(Repetition {
            min: *least,
            max: *most,
            greedy: *greedy,
            sub: Box::new(hir(of, alphabet)),
        }),
        Kind::Concatenation(parts) => Hir::concat(parts.iter().map(|part| hir(part, alphabet)).collect()),
        Kind::Alternation(parts) => Hir::alternation(parts.iter().map(|part| hir(part, alphabet)).collect()),
    }
}

fn literal(characters: &[char], fold: bool, alphabet: Option<&Alphabet>) -> Hir {
    let one = |character: &char| match alphabet {
        // All cases of a character share its symbol, unless another part of the pattern distinguishes them.
        Some(alphabet) if fold => Hir::class(Class::Bytes(alphabet.class(&one(*character, true)))),
        Some(alphabet) => {
            let symbol = alphabet.symbol(*character);
            Hir::class(Class::Bytes(ClassBytes::new([ClassBytesRange::new(symbol, symbol)])))
        }
        None if fold => Hir::class(Class::Unicode(one(*character, true))),
        None => Hir::literal(character.encode_utf8(&mut [0; 4]).as_bytes()),
    };
    Hir::concat(characters.iter().map(one).collect())
}
