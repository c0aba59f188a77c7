//! Regular expressions in the syntax of Go, which is RE2's, written in the syntax of the crate `regex`.
//!
//! Both find the same leftmost match in linear time. Classes like `\d` are ASCII's in Go, `\Q…\E` quotes, and braces that repeat nothing are themselves; what only the
//! crate knows is refused.

/// How often Go repeats at most.
const REPETITIONS_MAX: u32 = 1000;

/// The pattern for the crate, or what is wrong with it.
pub(super) fn translated(pattern: &str) -> Result<String, String> {
    let mut translator = Translator { rest: pattern, output: String::new(), repeated: false };
    while let Some(c) = translator.next() {
        translator.item(c)?;
    }
    Ok(translator.output)
}

struct Translator<'a> {
    rest: &'a str,
    output: String,
    /// Whether the last item is a repetition, which cannot be repeated.
    repeated: bool,
}

/// A part of a class.
enum ClassItem {
    Character(char),
    Class(String),
}

impl Translator<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn takes(&mut self, prefix: &str) -> bool {
        let found = self.rest.strip_prefix(prefix);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn item(&mut self, c: char) -> Result<(), String> {
        let was_repeated = std::mem::take(&mut self.repeated);
        match c {
            '*' | '+' | '?' => self.repetition(was_repeated, &c.to_string())?,
            '{' => match self.counts()? {
                Some(counts) => self.repetition(was_repeated, &counts)?,
                None => self.literal('{'),
            },
            '\\' => self.escape()?,
            '[' => self.class()?,
            '(' => self.group()?,
            '.' | '^' | '$' | '|' | ')' => self.output.push(c),
            c => self.literal(c),
        }
        Ok(())
    }

    fn literal(&mut self, c: char) {
        self.output.push_str(&escaped(c));
    }

    fn repetition(&mut self, was_repeated: bool, operator: &str) -> Result<(), String> {
        if was_repeated {
            return Err(format!("{operator} repeats a repetition"));
        }
        self.output.push_str(operator);
        if self.takes("?") {
            self.output.push('?');
        }
        self.repeated = true;
        Ok(())
    }

    /// `{2}`, `{2,}` or `{2,5}`. `None` if the brace is only a brace.
    fn counts(&mut self) -> Result<Option<String>, String> {
        let Some((inner, after)) = self.rest.split_once('}') else { return Ok(None) };
        let (least, most) = inner.split_once(',').map_or((inner, None), |(least, most)| (least, Some(most)));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(least) || !most.is_none_or(|most| most.is_empty() || is_number(most)) {
            return Ok(None);
        }
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number <= REPETITIONS_MAX);
        let wrong = || format!("{{{inner}}} repeats too often, or less than nothing");
        let least = number(least).ok_or_else(wrong)?;
        if let Some(most) = most.filter(|most| !most.is_empty())
            && number(most).is_none_or(|most| most < least)
        {
            return Err(wrong());
        }
        self.rest = after;
        Ok(Some(format!("{{{inner}}}")))
    }

    /// Groups may have flags and names.
    fn group(&mut self) -> Result<(), String> {
        if !self.takes("?") {
            self.output.push('(');
            return Ok(());
        }
        if self.takes("P<") || self.takes("<") {
            let (name, after) = self.rest.split_once('>').ok_or("the name of a group has no end")?;
            if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
                return Err(format!("{name:?} is no name of a group"));
            }
            self.rest = after;
            self.output.push_str(&format!("(?P<{name}>"));
            return Ok(());
        }
        let end = self.rest.find([':', ')']).ok_or("a group has no end")?;
        let (flags, after) = self.rest.split_at(end);
        let negated = flags.split_once('-').map(|(_, negated)| negated);
        let known = flags.chars().all(|c| "imsU-".contains(c)) && flags.matches('-').count() <= 1;
        if !known || negated.is_some_and(str::is_empty) {
            return Err(format!("(?{flags} has unknown flags"));
        }
        self.rest = after;
        self.output.push_str("(?");
        self.output.push_str(flags);
        if flags.is_empty() && after.starts_with(')') {
            self.output.push(':');
        }
        let end = self.next();
        self.output.extend(end);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let mut characters = self.rest.chars();
        match characters.next() {
            Some('A') => self.output.push_str(r"\A"),
            Some('z') => self.output.push_str(r"\z"),
            Some('b') => self.output.push_str(r"(?-u:\b)"),
            Some('B') => self.output.push_str(r"(?-u:\B)"),
            Some('C') => self.output.push_str("(?s-u:.)"),
            Some('Q') => {
                let quoted = &self.rest[1..];
                let (quoted, after) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
                self.rest = after;
                self.output.extend(quoted.chars().map(escaped));
                return Ok(());
            }
            _ => {
                match self.class_escape()? {
                    ClassItem::Character(c) => self.literal(c),
                    ClassItem::Class(class) => self.output.push_str(&class),
                }
                return Ok(());
            }
        }
        self.next();
        Ok(())
    }

    /// What follows a backslash, and may also stand in a class.
    fn class_escape(&mut self) -> Result<ClassItem, String> {
        let Some(c) = self.next() else { return Err("a backslash at the end".to_owned()) };
        let class = match c {
            'd' => "[0-9]",
            'D' => "[^0-9]",
            'w' => "[0-9A-Za-z_]",
            'W' => "[^0-9A-Za-z_]",
            's' => r"[\t\n\f\r ]",
            'S' => r"[^\t\n\f\r ]",
            'p' | 'P' => return self.unicode_class(c),
            c => return self.character_escape(c).map(ClassItem::Character),
        };
        Ok(ClassItem::Class(class.to_owned()))
    }

    fn unicode_class(&mut self, mut letter: char) -> Result<ClassItem, String> {
        let name = if self.takes("{") {
            let (name, after) = self.rest.split_once('}').ok_or("a class has no end")?;
            self.rest = after;
            name.to_owned()
        } else {
            self.next().ok_or("a class has no name")?.to_string()
        };
        let name = match name.strip_prefix('^') {
            Some(name) => {
                letter = if letter == 'p' { 'P' } else { 'p' };
                name
            }
            None => &name,
        };
        if !name.chars().all(|c| c.is_ascii_alphabetic() || c == '_') {
            return Err(format!("there is no class {name:?}"));
        }
        Ok(ClassItem::Class(format!("\\{letter}{{{name}}}")))
    }

    fn character_escape(&mut self, c: char) -> Result<char, String> {
        match c {
            'a' => Ok('\x07'),
            'f' => Ok('\x0c'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\x0b'),
            'x' => self.hexadecimal(),
            '0'..='7' => {
                let follows = self.rest.starts_with(|c: char| c.is_digit(8));
                if c != '0' && !follows {
                    return Err(format!("\\{c} would refer to a group, which is not possible"));
                }
                let mut code = c.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else { break };
                    code = code * 8 + digit;
                    self.next();
                }
                char::from_u32(code).ok_or_else(|| "no character".to_owned())
            }
            c if c.is_ascii_punctuation() || (c.is_ascii() && !c.is_ascii_alphanumeric()) => Ok(c),
            c => Err(format!("\\{c} is no escape")),
        }
    }

    fn hexadecimal(&mut self) -> Result<char, String> {
        let (digits, after) = if self.takes("{") {
            self.rest.split_once('}').ok_or("\\x{ has no end")?
        } else {
            self.rest.split_at_checked(2).ok_or("\\x has no digits")?
        };
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = plain.then(|| u32::from_str_radix(digits, 16).ok()).flatten();
        self.rest = after;
        code.and_then(char::from_u32).ok_or_else(|| format!("\\x{digits} is no character"))
    }

    fn class(&mut self) -> Result<(), String> {
        self.output.push('[');
        if self.takes("^") {
            self.output.push('^');
        }
        let mut first = true;
        loop {
            if !first && self.takes("]") {
                self.output.push(']');
                return Ok(());
            }
            first = false;
            if self.rest.starts_with("[:") && self.rest.contains(":]") {
                let (name, after) = self.rest.split_once(":]").ok_or("a class has no end")?;
                self.output.push_str(name);
                self.output.push_str(":]");
                self.rest = after;
                continue;
            }
            match self.class_item()? {
                ClassItem::Class(class) => self.output.push_str(&class),
                ClassItem::Character(low) => self.range(low)?,
            }
        }
    }

    fn class_item(&mut self) -> Result<ClassItem, String> {
        match self.next() {
            None => Err("a class has no end: ] is missing".to_owned()),
            Some('\\') => self.class_escape(),
            Some(c) => Ok(ClassItem::Character(c)),
        }
    }

    fn range(&mut self, low: char) -> Result<(), String> {
        self.output.push_str(&escaped(low));
        if !self.rest.starts_with('-') || self.rest.starts_with("-]") {
            return Ok(());
        }
        self.next();
        match self.class_item()? {
            ClassItem::Character(high) if high >= low => {
                self.output.push('-');
                self.output.push_str(&escaped(high));
                Ok(())
            }
            _ => Err(format!("a range from {low:?} has no end after it")),
        }
    }
}

/// A character that means only itself, in a class, too.
fn escaped(c: char) -> String {
    if c.is_alphanumeric() { c.to_string() } else { format!("\\x{{{:x}}}", u32::from(c)) }
}
