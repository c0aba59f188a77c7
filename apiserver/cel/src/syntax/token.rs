//! The lexer of CEL.

use std::sync::Arc;

/// The offset of errors that concern the source as a whole.
pub(crate) const NOWHERE: usize = usize::MAX;

/// An error in the source.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    /// Offset in characters, or [`NOWHERE`].
    pub at: usize,
    /// cel-go's message.
    pub message: String,
}

/// The tokens of CEL.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// A name or keyword.
    Ident(Arc<str>),
    /// A number without a fraction and without its sign.
    Int(u64),
    /// An unsigned integer such as `1u`.
    Uint(u64),
    /// A floating point number such as `1.5`.
    Double(f64),
    /// The content of a string literal.
    Text(Arc<str>),
    /// The content of a bytes literal.
    Bytes(Arc<[u8]>),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// The end of the source.
    End,
}

/// Longer symbols come first, because the first match wins.
const SYMBOLS: [&str; 25] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}", "=",
];

/// Splits the source into tokens with their offsets.
///
/// # Errors
/// The error for the first character that does not begin a token.
pub(crate) fn tokens(source: &str) -> Result<Vec<(usize, Token)>, Problem> {
    let mut lexer = Lexer { chars: source.chars().collect(), at: 0 };
    let mut out = Vec::new();
    loop {
        lexer.skip_space();
        let at = lexer.at;
        let token = lexer.next()?;
        let end = token == Token::End;
        out.push((at, token));
        if end {
            return Ok(out);
        }
    }
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn skip_space(&mut self) {
        loop {
            if self.peek(0).is_whitespace() {
                self.at += 1;
            } else if self.peek(0) == '/' && self.peek(1) == '/' {
                while self.at < self.chars.len() && self.peek(0) != '\n' {
                    self.at += 1;
                }
            } else {
                return;
            }
        }
    }

    fn fail<T>(&self, at: usize, message: impl Into<String>) -> Result<T, Problem> {
        Err(Problem { at, message: message.into() })
    }

    fn next(&mut self) -> Result<Token, Problem> {
        if self.at >= self.chars.len() {
            return Ok(Token::End);
        }
        let c = self.peek(0);
        if c.is_ascii_digit() || (c == '.' && self.peek(1).is_ascii_digit()) {
            return self.number();
        }
        if let Some(prefix) = self.string_prefix() {
            return self.string(prefix);
        }
        if c == '`' {
            return self.quoted();
        }
        if c.is_ascii_alphabetic() || c == '_' {
            let start = self.at;
            while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == '_' {
                self.at += 1;
            }
            let name: String = self.chars[start..self.at].iter().collect();
            return Ok(Token::Ident(name.into()));
        }
        for symbol in SYMBOLS {
            if symbol.chars().enumerate().all(|(i, c)| self.peek(i) == c) {
                self.at += symbol.len();
                return Ok(Token::Symbol(symbol));
            }
        }
        self.fail(self.at, format!("Syntax error: token recognition error at: '{c}'"))
    }

    /// Refuses an identifier in backticks, such as `` `x-y` ``. CEL has this syntax, but kube-apiserver does not enable
    /// it.
    fn quoted(&mut self) -> Result<Token, Problem> {
        let start = self.at;
        self.at += 1;
        while self.at < self.chars.len() && self.peek(0) != '`' {
            self.at += 1;
        }
        if self.at >= self.chars.len() {
            return self.fail(start, "Syntax error: token recognition error at: '`'");
        }
        self.fail(start, "unsupported syntax: '`'")
    }

    fn number(&mut self) -> Result<Token, Problem> {
        let start = self.at;
        let hex = self.peek(0) == '0' && matches!(self.peek(1), 'x' | 'X');
        let mut float = false;
        if hex {
            self.at += 2;
            while self.peek(0).is_ascii_hexdigit() {
                self.at += 1;
            }
        } else {
            self.digits();
            if self.peek(0) == '.' && self.peek(1).is_ascii_digit() {
                float = true;
                self.at += 1;
                self.digits();
            }
            let sign = usize::from(matches!(self.peek(1), '+' | '-'));
            if matches!(self.peek(0), 'e' | 'E') && self.peek(1 + sign).is_ascii_digit() {
                float = true;
                self.at += 1 + sign;
                self.digits();
            }
        }
        let text: String = self.chars[start..self.at].iter().collect();
        if float {
            return match text.parse() {
                Ok(value) if f64::is_finite(value) => Ok(Token::Double(value)),
                _ => self.fail(start, "invalid double literal"),
            };
        }
        let parsed = if hex { u64::from_str_radix(&text[2..], 16) } else { text.parse() };
        if matches!(self.peek(0), 'u' | 'U') {
            self.at += 1;
            return parsed.map(Token::Uint).or_else(|_| self.fail(start, "invalid uint literal"));
        }
        parsed.map(Token::Int).or_else(|_| self.fail(start, "invalid int literal"))
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    /// Parses a string prefix such as `r`, `b` or `br`. Returns its length and whether the literal is raw and bytes.
    fn string_prefix(&self) -> Option<(usize, bool, bool)> {
        let mut raw = false;
        let mut bytes = false;
        for i in 0..3 {
            match self.peek(i) {
                '"' | '\'' => return Some((i, raw, bytes)),
                'r' | 'R' if !raw => raw = true,
                'b' | 'B' if !bytes => bytes = true,
                _ => return None,
            }
        }
        None
    }

    fn string(&mut self, (prefix, raw, bytes): (usize, bool, bool)) -> Result<Token, Problem> {
        let start = self.at;
        self.at += prefix;
        let quote = self.peek(0);
        let triple = self.peek(1) == quote && self.peek(2) == quote;
        let length = if triple { 3 } else { 1 };
        self.at += length;
        let mut out: Vec<u8> = Vec::new();
        loop {
            if self.at >= self.chars.len() || (!triple && self.peek(0) == '\n') {
                let text: String = self.chars[start..self.at].iter().collect();
                return self.fail(start, format!("Syntax error: token recognition error at: '{text}'"));
            }
            if (0..length).all(|i| self.peek(i) == quote) {
                self.at += length;
                break;
            }
            let c = self.peek(0);
            self.at += 1;
            if c == '\\' && !raw {
                self.escape(bytes, start, &mut out)?;
            } else {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        if bytes {
            return Ok(Token::Bytes(out.into()));
        }
        match String::from_utf8(out) {
            Ok(text) => Ok(Token::Text(text.into())),
            Err(_) => self.fail(start, "invalid string literal"),
        }
    }

    /// Parses the escape sequence after a backslash in the literal that begins at `start`.
    fn escape(&mut self, bytes: bool, start: usize, out: &mut Vec<u8>) -> Result<(), Problem> {
        let at = self.at - 1;
        let c = self.peek(0);
        self.at += 1;
        let simple = match c {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' | '\'' | '"' | '`' | '?' => c as u8,
            _ => 0,
        };
        if simple != 0 {
            out.push(simple);
            return Ok(());
        }
        let (digits, radix) = match c {
            'x' | 'X' => (2, 16),
            'u' | 'U' if bytes => return self.fail(start, "unable to unescape string"),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='3' => {
                self.at -= 1;
                (3, 8)
            }
            _ => return self.fail(at, "Syntax error: token recognition error"),
        };
        let text: String = (0..digits).map(|i| self.peek(i)).collect();
        self.at += digits;
        let code = u32::from_str_radix(&text, radix).ok();
        match code {
            Some(code) if bytes && code < 256 => out.push(code as u8),
            Some(code) => match char::from_u32(code) {
                Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                None => return self.fail(at, "invalid unicode code point"),
            },
            None => return self.fail(at, "Syntax error: token recognition error"),
        }
        Ok(())
    }
}
