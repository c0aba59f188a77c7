//! Sets of characters: Perl's and POSIX's classes, and folding of cases as in Go.

use std::sync::LazyLock;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::unicode::{self, assigned};

/// Characters of which Unicode 15.1 and later say that they differ in case only.
const FOLDED_LATER: [char; 6] = ['\u{390}', '\u{3b0}', '\u{1fd3}', '\u{1fe3}', '\u{fb05}', '\u{fb06}'];

/// The characters that may have other cases in Go's version of Unicode.
static CASED: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let mut cased = unicode::property("Changes_When_Casemapped");
    cased.intersect(assigned());
    cased.difference(&ClassUnicode::new(FOLDED_LATER.map(|character| range(character, character))));
    cased
});

pub(super) fn range(low: char, high: char) -> ClassUnicodeRange {
    ClassUnicodeRange::new(low, high)
}

/// Returns the characters between two numbers. Halves of UTF-16 pairs are no characters.
pub(super) fn numbers(low: u32, high: u32) -> ClassUnicode {
    let parts = [(low, high.min(0xd7ff)), (low.max(0xe000), high)];
    let character = |number: u32| char::from_u32(number).filter(|_| low <= high);
    ClassUnicode::new(
        parts
            .into_iter()
            .filter(|(low, high)| low <= high)
            .filter_map(|(low, high)| Some(range(character(low)?, character(high)?))),
    )
}

/// Returns all characters but those of a set.
pub(super) fn negated(set: &ClassUnicode) -> ClassUnicode {
    let mut joined: Vec<ClassUnicodeRange> = Vec::with_capacity(set.ranges().len());
    for next in set.ranges() {
        // What ends before the halves of UTF-16 pairs and what begins after them leaves no character in between, which
        // regex-syntax does not know.
        match joined.last_mut() {
            Some(last) if last.end() == '\u{d7ff}' && next.start() == '\u{e000}' => {
                *last = range(last.start(), next.end());
            }
            _ => joined.push(*next),
        }
    }
    let mut set = ClassUnicode::new(joined);
    set.negate();
    set
}

/// Returns a set with the other cases of its characters.
pub(crate) fn folded(set: &ClassUnicode) -> ClassUnicode {
    let mut others = set.clone();
    others.intersect(&CASED);
    // The characters of the later versions that are added here are dropped again.
    others.case_fold_simple();
    others.intersect(&CASED);
    others.union(set);
    others
}

/// Returns the number of characters of a set that [`folded`] reads one by one.
pub(super) fn folding_work(set: &ClassUnicode) -> u64 {
    let mut cased = set.clone();
    cased.intersect(&CASED);
    cased.ranges().iter().map(|range| range.len() as u64).sum()
}

/// Returns the class of a letter after a backslash, such as `d`, and whether it is negated.
pub(super) fn perl(letter: char) -> Option<(ClassUnicode, bool)> {
    let set = match letter.to_ascii_lowercase() {
        'd' => ascii(&[('0', '9')]),
        's' => ascii(&[('\t', '\n'), ('\x0c', '\r'), (' ', ' ')]),
        'w' => words(),
        _ => return None,
    };
    Some((set, letter.is_ascii_uppercase()))
}

/// Returns the class of a name in `[:name:]`.
pub(super) fn posix(name: &str) -> Option<ClassUnicode> {
    Some(ascii(match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "ascii" => &[('\0', '\x7f')],
        "blank" => &[('\t', '\t'), (' ', ' ')],
        "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "digit" => &[('0', '9')],
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[('\t', '\r'), (' ', ' ')],
        "upper" => &[('A', 'Z')],
        "word" => return Some(words()),
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return None,
    }))
}

/// Returns the characters of words.
pub(crate) fn words() -> ClassUnicode {
    ascii(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')])
}

fn ascii(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|(low, high)| range(*low, *high)))
}
