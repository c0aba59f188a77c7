//! An estimate of the size of a compiled pattern from its text, where repetitions multiply the size of their operand.

/// Approximate number of states, in UTF-8, of any character or of a negated class.
const ANY: u64 = 12;
/// Approximate number of states of a Unicode class.
const UNICODE: u64 = 800;

/// Returns the approximate number of states of the pattern. Invariant: the time is linear in the length of any pattern.
pub fn size(pattern: &str) -> u64 {
    let mut reader = Reader { chars: pattern.chars().collect(), at: 0 };
    // The current group, and the groups around it.
    let (mut group, mut around) = (Group::default(), Vec::new());
    while let Some(character) = reader.next() {
        match character {
            '(' => around.push(std::mem::take(&mut group)),
            ')' => {
                let inner = group.total();
                group = around.pop().unwrap_or_default();
                group.add(inner);
            }
            '{' => match reader.repetition() {
                Some(count) => group.last = group.last.saturating_mul(count.max(1)),
                None => group.add(1),
            },
            '[' => group.add(reader.class()),
            '\\' => group.add(reader.escape()),
            '.' => group.add(ANY),
            _ => group.add(1),
        }
    }
    around.iter().fold(group.total(), |sum, group| sum.saturating_add(group.total()))
}

/// The size of a group so far. `last` is its last part, which a repetition multiplies.
#[derive(Default)]
struct Group {
    before: u64,
    last: u64,
}

impl Group {
    fn add(&mut self, size: u64) {
        self.before = self.total();
        self.last = size;
    }

    fn total(&self) -> u64 {
        self.before.saturating_add(self.last)
    }
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn next(&mut self) -> Option<char> {
        let found = self.chars.get(self.at).copied();
        self.at += 1;
        found
    }

    /// Parses `3}`, `3,}` or `3,5}` and returns the largest number. Returns `None` and consumes nothing if the text is
    /// something else.
    fn repetition(&mut self) -> Option<u64> {
        let rest = self.chars.get(self.at..)?;
        let end = rest.iter().take(MAX_COUNT).position(|c| *c == '}')?;
        let text: String = rest[..end].iter().collect();
        let count = text.split(',').filter(|part| !part.is_empty()).map(|part| part.trim().parse().ok());
        let count = count.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
        self.at += end + 1;
        Some(count)
    }

    /// Parses the rest of a bracketed class and returns its size.
    fn class(&mut self) -> u64 {
        let mut size = 1;
        let mut first = true;
        while let Some(character) = self.next() {
            match character {
                '^' if first => {
                    size += ANY;
                    continue;
                }
                ']' if !first => break,
                '\\' => size += self.escape(),
                character if !character.is_ascii() => size += 4,
                _ => size += 1,
            }
            first = false;
        }
        size
    }

    /// Parses the escape sequence after a backslash and returns its size.
    fn escape(&mut self) -> u64 {
        match self.next() {
            Some('p' | 'P') => {
                let name = self.chars.get(self.at..).unwrap_or_default();
                let name =
                    name.first().filter(|c| **c == '{').and_then(|_| name.iter().position(|c| *c == '}'));
                self.at += name.map_or(1, |end| end + 1);
                UNICODE
            }
            Some('D' | 'W' | 'S') => ANY,
            _ => 1,
        }
    }
}

/// Maximum number of characters in the numbers of a repetition.
const MAX_COUNT: usize = 24;
