//! The alphabet of a pattern: characters that it never distinguishes share one symbol, which is a byte. A program over
//! symbols is as small as Go's, whatever classes of Unicode it repeats.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regex_syntax::hir::{ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange};

use super::syntax::{Kind, Node, folded, words};

/// Maximum number of different sets of characters in a pattern with an alphabet.
const MAX_SETS: usize = 4_000;

/// The symbols of all characters.
#[derive(Debug)]
pub(super) struct Alphabet {
    ascii: [u8; 128],
    /// The first characters of ranges that share a symbol, and the symbols, in order.
    ranges: Vec<(char, u8)>,
}

impl Alphabet {
    /// Returns the alphabet of a pattern, or `None` if it distinguishes more characters than there are bytes. The words
    /// and the lines of a text are the same in symbols.
    pub(super) fn of(root: &Node) -> Option<Self> {
        let mut sets = Sets(BTreeSet::new());
        sets.add(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
        sets.add(&words());
        sets.collect(root)?;
        let mut starts: Vec<u32> = sets.0.iter().flatten().flat_map(|(low, end)| [*low, *end]).collect();
        starts.push(0);
        starts.retain(|start| *start <= char::MAX.into());
        starts.sort_unstable();
        starts.dedup();
        let parts = sets.parts(&starts)?;
        let symbols = symbols(&starts, &parts)?;
        let mut ranges: Vec<(char, u8)> = Vec::new();
        for (start, part) in starts.iter().zip(&parts) {
            // The characters after the halves of UTF-16 pairs begin where these would.
            let start = if *start == 0xd800 { 0xe000 } else { *start };
            let symbol = symbols.get(part).copied().unwrap_or_default();
            if let Some(start) = char::from_u32(start)
                && ranges.last().is_none_or(|(_, last)| *last != symbol)
            {
                ranges.push((start, symbol));
            }
        }
        let mut alphabet = Self { ascii: [0; 128], ranges };
        for byte in 0..128 {
            alphabet.ascii[usize::from(byte)] = alphabet.found(char::from(byte));
        }
        Some(alphabet)
    }

    /// Returns which of the ranges a character belongs to.
    fn place(&self, character: char) -> usize {
        self.ranges.partition_point(|(start, _)| *start <= character).saturating_sub(1)
    }

    fn found(&self, character: char) -> u8 {
        self.ranges.get(self.place(character)).map_or(0, |(_, symbol)| *symbol)
    }

    /// Returns the symbol of a character.
    pub(super) fn symbol(&self, character: char) -> u8 {
        match self.ascii.get(character as usize) {
            Some(symbol) => *symbol,
            None => self.found(character),
        }
    }

    /// Returns the symbols of the characters of a set.
    pub(super) fn class(&self, set: &ClassUnicode) -> ClassBytes {
        let mut symbols = [false; 256];
        for range in set.ranges() {
            let from = self.place(range.start());
            for (_, symbol) in self.ranges[from..].iter().take_while(|(start, _)| *start <= range.end()) {
                symbols[usize::from(*symbol)] = true;
            }
        }
        let found = (0..=u8::MAX).filter(|symbol| symbols[usize::from(*symbol)]);
        ClassBytes::new(found.map(|symbol| ClassBytesRange::new(symbol, symbol)))
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The sets of characters that a pattern distinguishes, as ranges by their first number and the one after them.
struct Sets(BTreeSet<Vec<(u32, u32)>>);

impl Sets {
    fn add(&mut self, set: &ClassUnicode) {
        // What lies between the halves of UTF-16 pairs and the characters after them is nothing.
        let number = |character: char, more: u32| match u32::from(character) + more {
            0xe000 => 0xd800,
            number => number,
        };
        let ranges = set.ranges().iter().map(|range| (number(range.start(), 0), number(range.end(), 1)));
        self.0.insert(ranges.collect());
    }

    fn collect(&mut self, node: &Node) -> Option<()> {
        match &node.kind {
            Kind::Literal { characters, fold } => {
                let different: BTreeSet<char> = characters.iter().copied().collect();
                different.into_iter().for_each(|character| self.add(&one(character, *fold)));
            }
            Kind::Class(class) => self.add(class),
            Kind::Group(_, inner) | Kind::Repetition { of: inner, .. } => self.collect(inner)?,
            Kind::Concatenation(parts) | Kind::Alternation(parts) => {
                parts.iter().try_for_each(|part| self.collect(part))?;
            }
            Kind::Empty | Kind::Assertion(_) => {}
        }
        (self.0.len() <= MAX_SETS).then_some(())
    }

    /// The sets divide all characters into parts. Returns the part of each range, by its start.
    fn parts(&self, starts: &[u32]) -> Option<Vec<usize>> {
        let mut parts = vec![0; starts.len()];
        let mut sizes = vec![starts.len()];
        let mut distinct = 1;
        for set in &self.0 {
            // The part inside of the set, by the part that it belonged to before.
            let mut inside: HashMap<usize, usize> = HashMap::new();
            for (low, end) in set {
                let first = starts.partition_point(|start| start < low);
                let until = starts.partition_point(|start| start < end);
                for part in &mut parts[first..until] {
                    let new = *inside.entry(*part).or_insert_with(|| {
                        sizes.push(0);
                        distinct += 1;
                        sizes.len() - 1
                    });
                    sizes[*part] -= 1;
                    distinct -= usize::from(sizes[*part] == 0);
                    sizes[new] += 1;
                    *part = new;
                }
            }
            if distinct > 256 {
                return None;
            }
        }
        Some(parts)
    }
}

/// Returns a character, with its other cases if `fold` is set.
pub(super) fn one(character: char, fold: bool) -> ClassUnicode {
    let set = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
    if fold { folded(&set) } else { set }
}

/// Gives each part a byte: the line feed its own, those of words the letters, digits and the underscore.
fn symbols(starts: &[u32], parts: &[usize]) -> Option<BTreeMap<usize, u8>> {
    let mut words = (0..=u8::MAX).filter(|byte| is_word(*byte));
    let mut others = (0..=u8::MAX).filter(|byte| !is_word(*byte) && *byte != b'\n');
    let mut symbols = BTreeMap::new();
    for (start, part) in starts.iter().zip(parts) {
        if symbols.contains_key(part) {
            continue;
        }
        let symbol = match u8::try_from(*start) {
            Ok(b'\n') => Some(b'\n'),
            Ok(byte) if is_word(byte) => words.next(),
            _ => others.next(),
        };
        symbols.insert(*part, symbol?);
    }
    Some(symbols)
}
