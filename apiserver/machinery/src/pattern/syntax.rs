//! Finds the syntax errors that Go's `regexp/syntax` reports in a pattern. The `regex` crate accepts some of these
//! patterns.

/// Maximum count of a repetition, where the counts of nested repetitions multiply.
const MAX_REPEAT: u64 = 1000;

/// Returns Go's message for the first error in a pattern, or `None` if this scan finds none.
pub fn error(pattern: &str) -> Option<String> {
    Scan { pattern, at: 0, operand: None, groups: Vec::new(), alternatives: 1 }.run().err()
}

/// The operand of a repetition that may follow.
#[derive(Clone, Copy)]
struct Operand {
    /// The product of nested repetition counts, at its most repeated part.
    times: u64,
    /// Offset of the repetition operator whose result the operand is.
    operator: Option<usize>,
}

impl Operand {
    const ONE: Option<Self> = Some(Self { times: 1, operator: None });
}

struct Scan<'p> {
    pattern: &'p str,
    at: usize,
    operand: Option<Operand>,
    /// For each open group, the highest product of repetition counts in the group around it so far.
    groups: Vec<u64>,
    /// The highest product of repetition counts in the current group so far.
    alternatives: u64,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        &self.pattern[self.at..]
    }

    fn run(mut self) -> Result<(), String> {
        while let Some(c) = self.rest().chars().next() {
            let start = self.at;
            self.at += c.len_utf8();
            match c {
                '(' => self.open(start)?,
                ')' => {
                    let before =
                        self.groups.pop().ok_or_else(|| format!("unexpected ): `{}`", self.pattern))?;
                    self.operand = Some(Operand { times: self.alternatives, operator: None });
                    self.alternatives = self.alternatives.max(before);
                }
                '|' => self.operand = None,
                '*' | '+' | '?' => self.repeat(start, 1)?,
                '{' => match counts(&self.pattern[start..]) {
                    Some((length, low, high)) => {
                        self.at = start + length;
                        let (most, text) = (high.unwrap_or(low).max(low), &self.pattern[start..self.at]);
                        if most > MAX_REPEAT || high.is_some_and(|high| high < low) {
                            return Err(format!("invalid repeat count: `{text}`"));
                        }
                        self.repeat(start, most)?;
                    }
                    None => self.operand = Operand::ONE,
                },
                '[' => self.class(start)?,
                '\\' => {
                    self.escape(start, false)?;
                    self.operand = Operand::ONE;
                }
                _ => self.operand = Operand::ONE,
            }
        }
        if self.groups.is_empty() { Ok(()) } else { Err(format!("missing closing ): `{}`", self.pattern)) }
    }

    fn repeat(&mut self, start: usize, count: u64) -> Result<(), String> {
        let operand = self.operand;
        if self.rest().starts_with('?') && operand.is_some() {
            self.at += 1;
        }
        let operator = &self.pattern[start..self.at];
        let Some(operand) = operand else {
            return Err(format!("missing argument to repetition operator: `{operator}`"));
        };
        if let Some(first) = operand.operator {
            return Err(format!("invalid nested repetition operator: `{}`", &self.pattern[first..self.at]));
        }
        let times = operand.times.saturating_mul(count.max(1));
        if times > MAX_REPEAT {
            return Err(format!("invalid repeat count: `{operator}`"));
        }
        self.alternatives = self.alternatives.max(times);
        self.operand = Some(Operand { times, operator: Some(start) });
        Ok(())
    }

    /// Parses the beginning of a group, or flags that apply from here on.
    fn open(&mut self, start: usize) -> Result<(), String> {
        let mut group = true;
        if self.rest().starts_with('?') {
            let text = &self.pattern[start..];
            let name = ["(?P<", "(?<"].iter().find(|prefix| text.starts_with(*prefix));
            if let Some(prefix) = name {
                let end = text.find('>').ok_or_else(|| format!("invalid named capture: `{text}`"))?;
                let name = &text[prefix.len()..end];
                if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                    return Err(format!("invalid named capture: `{}`", &text[..=end]));
                }
                self.at = start + end + 1;
            } else {
                group = self.flags(start)?;
            }
        }
        if group {
            self.groups.push(self.alternatives);
            self.alternatives = 1;
        }
        self.operand = None;
        Ok(())
    }

    /// Parses flags. Returns whether a group begins after them.
    fn flags(&mut self, start: usize) -> Result<bool, String> {
        let (mut any, mut negative) = (false, false);
        let text = &self.pattern[start..];
        for (i, c) in text.char_indices().skip(2) {
            match c {
                'i' | 'm' | 's' | 'U' => any = true,
                '-' if !negative => (negative, any) = (true, false),
                ':' | ')' if any || !negative => {
                    self.at = start + i + 1;
                    return Ok(c == ':');
                }
                _ => {
                    let part = &text[..i + c.len_utf8()];
                    return Err(format!("invalid or unsupported Perl syntax: `{part}`"));
                }
            }
        }
        Err(format!("invalid or unsupported Perl syntax: `{text}`"))
    }

    fn class(&mut self, start: usize) -> Result<(), String> {
        let text = &self.pattern[start..];
        let missing = || format!("missing closing ]: `{text}`");
        if self.rest().starts_with('^') {
            self.at += 1;
        }
        let mut first = true;
        while first || !self.rest().starts_with(']') {
            first = false;
            if let Some(end) = self.rest().strip_prefix("[:").and_then(|rest| rest.find(":]")) {
                let name = &self.rest()[..end + 4];
                if !NAMES.contains(&name[2..].trim_start_matches('^').trim_end_matches(":]")) {
                    return Err(format!("invalid character class range: `{name}`"));
                }
                self.at += end + 4;
                continue;
            }
            let from = self.at;
            let set = self.rest().starts_with('\\') && self.rest()[1..].starts_with(SETS);
            let low = self.member(false).ok_or_else(missing)??;
            let ranges = !set && self.rest().starts_with('-') && !self.rest().starts_with("-]");
            if ranges && self.rest().len() > 1 {
                self.at += 1;
                let high = self.member(true).ok_or_else(missing)??;
                if let (Some(low), Some(high)) = (low, high)
                    && high < low
                {
                    let range = &self.pattern[from..self.at];
                    return Err(format!("invalid character class range: `{range}`"));
                }
            }
            if self.rest().is_empty() {
                return Err(missing());
            }
        }
        self.at += 1;
        self.operand = Operand::ONE;
        Ok(())
    }

    /// Parses a member of a class and returns its character, if it is a literal one. Returns `None` at the end of the
    /// pattern. With `single`, an escape for several characters is an error.
    fn member(&mut self, single: bool) -> Option<Result<Option<char>, String>> {
        let (c, start) = (self.rest().chars().next()?, self.at);
        self.at += c.len_utf8();
        Some(if c == '\\' { self.escape(start, single).map(|()| None) } else { Ok(Some(c)) })
    }

    /// Parses the escape sequence after a backslash.
    fn escape(&mut self, start: usize, single: bool) -> Result<(), String> {
        let Some(c) = self.rest().chars().next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        self.at += c.len_utf8();
        let shown = |scan: &Self| format!("invalid escape sequence: `{}`", &scan.pattern[start..scan.at]);
        match c {
            'Q' if !single => {
                let end = self.rest().find("\\E").map_or(self.rest().len(), |end| end + 2);
                self.at += end;
            }
            'p' | 'P' if !single => {
                let name = self.rest();
                let length = match name.strip_prefix('{') {
                    Some(inner) => inner.find('}').map(|end| end + 2),
                    None => name.chars().next().map(char::len_utf8),
                };
                let known =
                    length.is_some_and(|length| regex_syntax_knows(&self.pattern[start..self.at + length]));
                self.at += length.unwrap_or(name.len());
                if !known {
                    let range = &self.pattern[start..self.at];
                    return Err(format!("invalid character class range: `{range}`"));
                }
            }
            'x' => {
                let rest = self.rest();
                let (digits, length) = match rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
                    Some((digits, _)) => (digits, digits.len() + 2),
                    None => (rest.get(..2).unwrap_or(rest), rest.len().min(2)),
                };
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                let good = code.is_some() && (length > 2 || digits.len() == 2);
                if !good {
                    self.at += rest.chars().take(2).take_while(char::is_ascii_hexdigit).count();
                    let bad = self.rest().chars().next().map_or(0, char::len_utf8);
                    self.at += if self.at - start < 4 { bad } else { 0 };
                    return Err(shown(self));
                }
                self.at += length;
            }
            'd' | 'D' | 's' | 'S' | 'w' | 'W' | 'A' | 'b' | 'B' | 'z' if !single => {}
            '0' | 'a' | 'f' | 'n' | 'r' | 't' | 'v' => {}
            '1'..='7' if self.rest().starts_with(|next: char| ('0'..='7').contains(&next)) => {}
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => {}
            _ => return Err(shown(self)),
        }
        Ok(())
    }
}

/// Escapes that stand for several characters.
const SETS: [char; 8] = ['d', 'D', 's', 'S', 'w', 'W', 'p', 'P'];

const NAMES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

fn regex_syntax_knows(class: &str) -> bool {
    regex::Regex::new(class).is_ok()
}

/// Parses `{2}`, `{2,}` or `{2,5}` at the beginning. Returns its length, the minimum and the maximum.
fn counts(text: &str) -> Option<(usize, u64, Option<u64>)> {
    let end = text.find('}')?;
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
        plain.then(|| digits.parse().unwrap_or(u64::MAX))
    };
    let inner = &text[1..end];
    let (low, high) = match inner.split_once(',') {
        None => (number(inner)?, None),
        Some((low, "")) => (number(low)?, None),
        Some((low, high)) => (number(low)?, Some(number(high)?)),
    };
    Some((end + 1, low, high))
}
