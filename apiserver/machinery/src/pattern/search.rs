//! Searches of a pattern in a text.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_automata::util::captures::Captures;

use super::alphabet::Alphabet;
use super::syntax::Tree;

/// A compiled pattern. It is shared and not cloned, because a clone would begin without the caches of earlier searches.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
    /// The alphabet of a program that reads symbols.
    alphabet: Option<Alphabet>,
    names: Vec<Option<Arc<str>>>,
    /// Whether the pattern has `\B`, which is also true between the bytes of a character.
    finds_inside: bool,
}

impl Pattern {
    pub(super) fn new(regex: Regex, alphabet: Option<Alphabet>, tree: Tree) -> Self {
        Self { regex, alphabet, names: tree.names, finds_inside: tree.finds_inside }
    }

    /// Returns whether the pattern matches somewhere in the text.
    pub fn is_match(&self, text: impl AsRef<[u8]>) -> bool {
        let read = self.read(text.as_ref());
        // The earliest place where `\B` is true may be inside of a character, and what regex-automata tries next begins
        // behind the character before.
        let earliest = !self.finds_inside;
        self.regex.search_half(&Input::new(&*read).earliest(earliest)).is_some()
    }

    /// Returns where the matches are, which do not overlap.
    pub fn search<'t, T: AsRef<[u8]> + ?Sized>(&'t self, text: &'t T) -> Search<'t> {
        let text = text.as_ref();
        let read = self.read(text);
        let places = self.alphabet.as_ref().map(|_| places(text));
        Search { pattern: self, groups: self.regex.create_captures(), read, places, start: 0, end: None }
    }

    /// Returns the names of the groups, of which the first one is the whole match.
    pub fn names(&self) -> &[Option<Arc<str>>] {
        &self.names
    }

    /// Returns the approximate memory of the program.
    pub fn memory(&self) -> usize {
        self.regex.memory_usage()
    }

    /// Returns the text as the program reads it.
    fn read<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let Some(alphabet) = &self.alphabet else { return Cow::Borrowed(text) };
        let mut symbols = Vec::with_capacity(text.len());
        for chunk in text.utf8_chunks() {
            symbols.extend(chunk.valid().chars().map(|character| alphabet.symbol(character)));
            symbols.extend(chunk.invalid().iter().map(|_| alphabet.symbol(char::REPLACEMENT_CHARACTER)));
        }
        Cow::Owned(symbols)
    }
}

/// Returns where the characters begin, and where the text ends.
fn places(text: &[u8]) -> Vec<usize> {
    let (mut places, mut chunk_start) = (Vec::with_capacity(text.len() + 1), 0);
    for chunk in text.utf8_chunks() {
        places.extend(chunk.valid().char_indices().map(|(at, _)| chunk_start + at));
        chunk_start += chunk.valid().len();
        places.extend((0..chunk.invalid().len()).map(|at| chunk_start + at));
        chunk_start += chunk.invalid().len();
    }
    places.push(text.len());
    places
}

/// The matches of a pattern, from left to right.
#[derive(Debug)]
pub struct Search<'t> {
    pattern: &'t Pattern,
    read: Cow<'t, [u8]>,
    /// Where the symbols stand in the text, if the program reads symbols.
    places: Option<Vec<usize>>,
    groups: Captures,
    start: usize,
    /// The end of the last match.
    end: Option<usize>,
}

impl Search<'_> {
    /// Returns where the groups of the last match are, of which the first one is the whole match.
    pub fn group(&self, index: usize) -> Option<Range<usize>> {
        let span = self.groups.get_group(index)?;
        let place = |at: usize| match &self.places {
            Some(places) => places.get(at).copied().unwrap_or_default(),
            None => at,
        };
        Some(place(span.start)..place(span.end))
    }
}

impl Iterator for Search<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.start > self.read.len() {
                return None;
            }
            let input = Input::new(&*self.read).range(self.start..);
            self.pattern.regex.search_captures(&input, &mut self.groups);
            let found = self.groups.get_match()?;
            // An empty match directly after another match does not count.
            if found.is_empty() && self.end == Some(found.end()) {
                self.start += 1;
                continue;
            }
            self.start = found.end();
            self.end = Some(found.end());
            return self.group(0);
        }
    }
}
