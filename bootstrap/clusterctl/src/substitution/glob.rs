//! Patterns with `*`, `?`, `[a-z]`, `[^a-z]`; `\` makes the next character literal.

/// A pattern.
pub(super) struct Glob(Vec<Token>);

enum Token {
    Character(char),
    Any,
    Star,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl Glob {
    /// Parses a pattern; `None` if a class is not closed, empty or invalid, or nothing follows a `\`.
    pub fn new(pattern: &[u8]) -> Option<Self> {
        let characters = decoded(pattern);
        let mut rest = characters.iter().copied().peekable();
        let mut tokens = Vec::new();
        while let Some(next) = rest.next() {
            tokens.push(match next {
                '*' => Token::Star,
                '?' => Token::Any,
                '[' => class(&mut rest)?,
                '\\' => Token::Character(rest.next()?),
                other => Token::Character(other),
            });
        }
        Some(Self(tokens))
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        let text = decoded(text);
        // The places in the text up to which the tokens so far match.
        let mut ends = vec![false; text.len() + 1];
        ends[0] = true;
        for token in &self.0 {
            let mut next = vec![false; text.len() + 1];
            for at in 0..=text.len() {
                next[at] = match token {
                    Token::Star => ends[at] || (at > 0 && next[at - 1]),
                    one => at > 0 && ends[at - 1] && one.fits(text[at - 1]),
                };
            }
            ends = next;
        }
        ends[text.len()]
    }
}

impl Token {
    fn fits(&self, character: char) -> bool {
        match self {
            Self::Character(own) => *own == character,
            Self::Any | Self::Star => true,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&character)) != *negated
            }
        }
    }
}

type Rest<'a> = std::iter::Peekable<std::iter::Copied<std::slice::Iter<'a, char>>>;

fn class(rest: &mut Rest<'_>) -> Option<Token> {
    let negated = rest.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        if !ranges.is_empty() && rest.next_if_eq(&']').is_some() {
            return Some(Token::Class { negated, ranges });
        }
        let low = bound(rest)?;
        let high = if rest.next_if_eq(&'-').is_some() { bound(rest)? } else { low };
        ranges.push((low, high));
    }
}

fn bound(rest: &mut Rest<'_>) -> Option<char> {
    match rest.next()? {
        '-' | ']' => None,
        '\\' => rest.next(),
        other => Some(other),
    }
}

/// The characters of a text, with a replacement character for each byte that is not UTF-8.
fn decoded(text: &[u8]) -> Vec<char> {
    let mut characters = Vec::new();
    for chunk in text.utf8_chunks() {
        characters.extend(chunk.valid().chars());
        characters.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    characters
}
